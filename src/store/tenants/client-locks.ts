import { type Queryable, sql } from "../database/database.ts";

/**
 * A client is alive, being deleted, or deleted. deleteClient locks its row exclusively until it is deleted, or
 * alive again when the deletion is rolled back.
 * A statement that writes rows of several clients locks those that are alive against deletion and leaves out
 * the rows of the others: waiting for a deletion would hold up the rows of all clients.
 * Rows of a client that is being deleted are blocked; the caller must write them later or report a failure.
 */

/** SQL: the CTE `alive` of clients that the statement has locked; `clientIds` selects the candidates. */
export const lockAliveClients = (clientIds: string): string => `alive as materialized (
    select id
    from clients
    where id = any(array(${clientIds}))
    order by id
    for key share skip locked
  )`;

/** SQL: true for a client in the CTE `alive`. */
export const isAlive = (clientId: string): string => `${clientId} = any(array(select id from alive))`;

/** SQL: true for a client that is not in the CTE `alive` and not deleted. */
export const isBeingDeleted = (clientId: string): string => `(
    ${clientId} <> all(array(select id from alive))
    and exists (
      select
      from clients existing
      where existing.id = ${clientId}
    )
  )`;

/** Result of a statement that writes rows of several clients, as ids of rows. */
export interface WriteResult {
  written: string[];
  /** Not written, because their client is being deleted. */
  blocked: string[];
}

/** A row that a statement has written, or that is blocked. */
export interface WrittenRow {
  id: string;
  isBlocked: boolean;
}

export const toWriteResult = (rows: readonly WrittenRow[]): WriteResult => ({
  written: rows.filter(({ isBlocked }) => !isBlocked).map(({ id }) => id),
  blocked: rows.filter(({ isBlocked }) => isBlocked).map(({ id }) => id),
});

/** Thrown when rows of these clients are not written. The rows of other clients may be. */
export class ClientsBeingDeleted extends Error {
  readonly clientIds: readonly string[];

  constructor(clientIds: readonly string[]) {
    super(`clients are being deleted: ${clientIds.join(", ")}`);
    this.name = "ClientsBeingDeleted";
    this.clientIds = clientIds;
  }
}

export function throwIfBlocked(clientIds: Iterable<string>): void {
  const blocked = [...new Set(clientIds)];
  if (blocked.length > 0) throw new ClientsBeingDeleted(blocked);
}

const LOCK = sql(`
  with ${lockAliveClients("select unnest($1::uuid[])")}
  select id
  from unnest($1::uuid[]) as w (id)
  where ${isBeingDeleted("w.id")}`);

/** Locks the clients until the transaction ends; throws ClientsBeingDeleted instead of waiting. */
export async function lockClients(tx: Queryable, clientIds: readonly string[]): Promise<void> {
  const rows = await tx.query<{ id: string }>(LOCK, [clientIds]);
  throwIfBlocked(rows.map(({ id }) => id));
}
