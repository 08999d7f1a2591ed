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

export async function createClient(db: Queryable, name: string): Promise<ClientRow> {
  const [row] = await db.query<ClientRow>(INSERT, [randomUUID(), name]);
  return row as ClientRow;
}

export async function findClient(db: Queryable, clientId: string): Promise<ClientRow | undefined> {
  const [row] = await db.query<ClientRow>(FIND, [clientId]);
  return row;
}
