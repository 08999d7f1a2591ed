/** A delivery by its client and its event. */
export interface DeliveryRef {
  clientId: string;
  id: string;
}

/** Whoever writes several rows takes them in this order: two who want the same ones never wait for each other. */
export const inOrder = <T extends { id: string }>(rows: readonly T[]): T[] =>
  [...rows].sort((one, other) => (one.id < other.id ? -1 : 1));

/** As two arrays for a statement. */
export function columnsOf(refs: readonly DeliveryRef[]): [string[], string[]] {
  const ordered = inOrder(refs);
  return [ordered.map(({ clientId }) => clientId), ordered.map(({ id }) => id)];
}
