import { randomUUID } from "node:crypto";
import { type Queryable, type Statement, sql } from "../database/database.ts";

export interface ClientRow {
  id: string;
  name: string;
  created_at: Date;
}

const INSERT = sql(`
  insert into clients (id, name)
  values ($1, $2)
  returning id, name, created_at`);

const FIND = sql(`
  select id, name, created_at
  from clients
  where id = $1
  and (deleted_at is null or $2)`);

const LIST = sql(`
  select id, name, created_at
  from clients
  where deleted_at is null
  order by created_at, id`);

/**
 * SQL: false for a deleted client whose rows are being erased. Reads the few deleted clients once per statement. With
 * `deleted_at is null`, the planner would expect hardly any client before its first ANALYZE, and join with nested loops.
 */
export const isClientAlive = (clientId: string): string =>
  `${clientId} <> all(array(select id from clients where deleted_at is not null))`;

/**
 * SQL: the CTE `alive` of those clients that are not deleted. Statements that insert rows without a foreign key to clients
 * insert them for these only; see client-erasure.ts.
 */
export const selectAliveClients = (clientIds: string): string => `alive as materialized (
    select id
    from clients
    where id = any(array(${clientIds}))
    and ${isClientAlive("id")}
  )`;

/** SQL: the client's id. Null for a deleted client, which a not-null column rejects with an error that isDeletedClient recognises. */
export const aliveClient = (clientId: string): string =>
  `(select id from clients where id = ${clientId} and deleted_at is null)`;

/** SQL: finds the client of a row of any client. One lookup per client, because the id alone has no index. */
const selectOwner = (table: string): Statement =>
  sql(`
  select c.id
  from clients c
  cross join lateral (
    select 1
    from ${table} t
    where t.client_id = c.id
    and t.id = $1
    limit 1
  ) found
  limit 1`);

const FIND_OWNER = {
  channels: selectOwner("channels"),
  events: selectOwner("events"),
  messages: selectOwner("messages"),
};

/** Spans all clients, for the operator: returns the id of the client that has this row. */
export async function findOwner(
  db: Queryable,
  table: keyof typeof FIND_OWNER,
  id: string,
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(FIND_OWNER[table], [id]);
  return row?.id;
}

export async function createClient(db: Queryable, name: string): Promise<ClientRow> {
  const [row] = await db.query<ClientRow>(INSERT, [randomUUID(), name]);
  return row as ClientRow;
}

/** Undefined for a deleted client, unless `includeDeleted`: then its rows may still have to be erased. */
export async function findClient(
  db: Queryable,
  clientId: string,
  { includeDeleted = false }: { includeDeleted?: boolean } = {},
): Promise<ClientRow | undefined> {
  const [row] = await db.query<ClientRow>(FIND, [clientId, includeDeleted]);
  return row;
}

/** Lists all clients, for the operator. */
export const listClients = (db: Queryable): Promise<ClientRow[]> => db.query<ClientRow>(LIST);
