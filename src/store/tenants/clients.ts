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
  "late_changes",
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

/**
 * Deletes all data of the client, or nothing. Statements that write rows of several clients skip this one
 * meanwhile (see client-locks.ts), so none is added, and other clients do not wait.
 */
export async function deleteClient(db: Database, clientId: string): Promise<void> {
  await db.transaction(async (tx) => {
    for (const statement of [LOCK, ...DELETE_CLIENT_ROWS, DELETE]) await tx.query(statement, [clientId]);
  });
}
