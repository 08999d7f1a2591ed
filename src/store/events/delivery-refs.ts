/** A delivery by its client and its event. */
export interface DeliveryRef {
  clientId: string;
  id: string;
}

/** Of a delivery that is to be told, and in nobody's hand. */
export const IS_WAITING = "state in ('pending', 'retrying')";

/** By the last byte of the client's id, as partitionOf does it; the parameter says how many there are. */
export const partitionBy = (parameter: string): string => `get_byte(uuid_send(client_id), 15) % ${parameter}`;

/** Whoever writes several rows takes them in this order: two who want the same ones never wait for each other. */
export const sortById = <T extends { id: string }>(rows: readonly T[]): T[] =>
  [...rows].sort((one, other) => (one.id < other.id ? -1 : 1));

/** As two arrays for a statement. */
export function columnsOf(refs: readonly DeliveryRef[]): [string[], string[]] {
  const ordered = sortById(refs);
  return [ordered.map(({ clientId }) => clientId), ordered.map(({ id }) => id)];
}

/**
 * True of every event's id. Nothing being known of a parameter, the planner expects it of one or two, and so looks each up by
 * its key: expecting many it would read all partitions from end to end, for it does not foresee that one is asked for each.
 */
export const smallSetHint = (id: string): string => `${id} like 'evt%'`;
