import { randomUUID } from "node:crypto";
import { type Database, type Queryable, sql } from "../database/database.ts";

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
  where id = $1`);

const LIST = sql(`
  select id, name, created_at
  from clients
  order by created_at, id`);

const LOCK = sql(`
  select id
  from clients
  where id = $1
  for update`);

/**
 * What no constraint ties to the client. Whoever writes an attempt holds its delivery, so deliveries go first: the
 * attempts of those that were waited for are seen after them.
 */
const DELETE_CLIENT_ROWS = [
  "deliveries",
  "attempts",
  "events",
  "event_fingerprints",
  "sends",
  "messages",
  "idempotency_keys",
].map((table) =>
  sql(`
  delete from ${table}
  where client_id = $1`),
);

const DELETE = sql(`
  delete from clients
  where id = $1`);

export async function createClient(db: Queryable, name: string): Promise<ClientRow> {
  const [row] = await db.query<ClientRow>(INSERT, [randomUUID(), name]);
  return row as ClientRow;
}

export async function findClient(db: Queryable, clientId: string): Promise<ClientRow | undefined> {
  const [row] = await db.query<ClientRow>(FIND, [clientId]);
  return row;
}

/** All clients, for the operator. */
export const listClients = (db: Queryable): Promise<ClientRow[]> => db.query<ClientRow>(LIST);

const DELETE_BATCH_ROWS = 2_000;

/** A few at a time: whoever writes to many clients' rows of a queue at once must not wait for the erasing of one. */
const DELETE_QUEUE_BATCH = ["deliveries", "sends"].map((table) =>
  sql(`
  delete from ${table}
  where client_id = $1
  and id = any(array(
    select id
    from ${table}
    where client_id = $1
    limit $2
  ))
  returning 1 as one`),
);

/** Erases everything of the client. Whoever records an event or a message holds the client, so none comes in meanwhile. */
export async function deleteClient(db: Database, clientId: string): Promise<void> {
  for (const statement of DELETE_QUEUE_BATCH)
    while ((await db.query(statement, [clientId, DELETE_BATCH_ROWS])).length === DELETE_BATCH_ROWS);
  await db.transaction(async (tx) => {
    for (const statement of [LOCK, ...DELETE_CLIENT_ROWS, DELETE]) await tx.query(statement, [clientId]);
  });
}
