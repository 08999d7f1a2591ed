/** Identifies a delivery by its client and its event. */
export interface DeliveryRef {
  clientId: string;
  id: string;
}

/** Statements that write several rows use this order, so that two of them cannot deadlock. */
export const sortById = <T extends { id: string }>(rows: readonly T[]): T[] =>
  [...rows].sort((one, other) => (one.id < other.id ? -1 : 1));

/**
 * SQL: true for every event id. It makes the planner expect one or two rows and look each up by key.
 * Expecting many, it would scan all partitions, unaware that each lookup touches only one.
 */
export const smallSetHint = (id: string): string => `${id} like 'evt%'`;
