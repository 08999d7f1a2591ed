/** Identifies a delivery by its client and its event. */
export interface DeliveryRef {
  clientId: string;
  id: string;
}

/** SQL: true for a delivery that is to be attempted and not claimed. */
export const IS_WAITING = "state in ('pending', 'retrying')";

/**
 * SQL: the partition by the last byte of the client's id, like partitionOf; `parameter` is the number of
 * partitions.
 */
export const partitionBy = (parameter: string): string => `get_byte(uuid_send(client_id), 15) % ${parameter}`;

/** Statements that write several rows use this order, so that two of them cannot deadlock. */
export const sortById = <T extends { id: string }>(rows: readonly T[]): T[] =>
  [...rows].sort((one, other) => (one.id < other.id ? -1 : 1));

/** Client ids and event ids as two arrays, sorted by event id. */
export function columnsOf(refs: readonly DeliveryRef[]): [string[], string[]] {
  const ordered = sortById(refs);
  return [ordered.map(({ clientId }) => clientId), ordered.map(({ id }) => id)];
}

/**
 * SQL: true for every event id. It makes the planner expect one or two rows and look each up by key.
 * Expecting many, it would scan all partitions, unaware that each lookup touches only one.
 */
export const smallSetHint = (id: string): string => `${id} like 'evt%'`;
