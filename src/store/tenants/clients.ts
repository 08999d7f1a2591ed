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
 * Tables without a foreign key to clients. Deliveries come first: an attempt is written under the lock of its
 * delivery, so attempts committed while this waited are deleted too.
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

/** Lists all clients, for the operator. */
export const listClients = (db: Queryable): Promise<ClientRow[]> => db.query<ClientRow>(LIST);

const DELETE_BATCH_ROWS = 2_000;

/**
 * Deletes in small batches: statements that write queue rows of many clients must not wait for one deletion.
 */
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

/**
 * Deletes all data of the client. Recording an event or a message locks the client, so none is added
 * meanwhile.
 */
export async function deleteClient(db: Database, clientId: string): Promise<void> {
  for (const statement of DELETE_QUEUE_BATCH)
    while ((await db.query(statement, [clientId, DELETE_BATCH_ROWS])).length === DELETE_BATCH_ROWS);
  await db.transaction(async (tx) => {
    for (const statement of [LOCK, ...DELETE_CLIENT_ROWS, DELETE]) await tx.query(statement, [clientId]);
  });
}
