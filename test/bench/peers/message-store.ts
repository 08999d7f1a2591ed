/** What the peers of the intake share: a prepared INSERT, committed before the XADD. */
import { Redis } from "ioredis";
import pg from "pg";
import { newId } from "../../../src/runtime/ids.ts";

const { DATABASE_URL, REDIS_URL = "", TABLE = "" } = process.env;

/** As many connections as Herald's web process has by default. */
export const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const redis = new Redis(REDIS_URL, { enableAutoPipelining: true });

export const createTable = () =>
  pool.query(`create table ${TABLE} (
    id text primary key,
    body jsonb not null,
    created_at timestamptz not null default now()
  )`);

/** Inserts a message with a prepared statement. */
export const insertMessage = (db: pg.Pool | pg.PoolClient, id: string, body: unknown) =>
  db.query({
    name: "insert_message",
    text: `insert into ${TABLE} (id, body) values ($1, $2)`,
    values: [id, body],
  });

export const queueMessage = (id: string) => redis.xadd(TABLE, "*", "id", id);

export const toReply = (id: string) => ({ message_id: id, status: "queued" });

/** Stores a message and queues it. */
export async function acceptMessage(body: unknown) {
  const id = newId("msg");
  await insertMessage(pool, id, body);
  await queueMessage(id);
  return toReply(id);
}
