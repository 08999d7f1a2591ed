import { randomUUID } from "node:crypto";
import { type Queryable, sql } from "./database.ts";

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

/** Erases everything of the client: every row of a tenant refers to it and goes with it. */
export async function deleteClient(db: Queryable, clientId: string): Promise<void> {
  await db.query(DELETE, [clientId]);
}
