/**
 * The peer of the webhook endpoint: express verifies the HMAC of the raw body and stores each update as it came, committed before the
 * answer. It does not deduplicate, find the owner or queue a delivery. INSERT selects how a webhook is stored.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import express from "express";
import pg from "pg";
import { listen } from "./listen.ts";

const { DATABASE_URL, TABLE = "", INSERT, PLATFORM_APP_SECRET = "" } = process.env;

interface Update {
  id: string;
}

interface WebhookBody {
  entry: { changes: { value: { messages: Update[] } }[] }[];
}

/** As many connections as Herald's web process has by default. */
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
await pool.query(`create table ${TABLE} (
  id bigint generated always as identity primary key,
  message_id text not null,
  raw json not null,
  received_at timestamptz not null default now()
)`);

const insertOne = (db: pg.Pool | pg.PoolClient, update: Update) =>
  db.query({
    name: "insert_update",
    text: `insert into ${TABLE} (message_id, raw) values ($1, $2)`,
    values: [update.id, JSON.stringify(update)],
  });

/** One INSERT per update, each committed by itself. */
async function insertSingly(updates: readonly Update[]): Promise<void> {
  for (const update of updates) await insertOne(pool, update);
}

/** One INSERT per update, all committed together. */
async function insertInTransaction(updates: readonly Update[]): Promise<void> {
  const connection = await pool.connect();
  try {
    await connection.query("begin");
    for (const update of updates) await insertOne(connection, update);
    await connection.query("commit");
  } catch (error) {
    await connection.query("rollback");
    throw error;
  } finally {
    connection.release();
  }
}

/** One INSERT for all updates. */
const insertRows = (updates: readonly Update[]) =>
  pool.query({
    name: "insert_updates",
    text: `insert into ${TABLE} (message_id, raw)
      select message_id, raw::json
      from unnest($1::text[], $2::text[]) as updates (message_id, raw)`,
    values: [updates.map(({ id }) => id), updates.map((update) => JSON.stringify(update))],
  });

const INSERTS = { single: insertSingly, transaction: insertInTransaction, "multi-row": insertRows } as const;
const insert = INSERTS[INSERT as keyof typeof INSERTS];

function isSigned(body: Buffer, signature: string): boolean {
  const expected = Buffer.from(
    `sha256=${createHmac("sha256", PLATFORM_APP_SECRET).update(body).digest("hex")}`,
  );
  const actual = Buffer.from(signature);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

const app = express().disable("x-powered-by").disable("etag");
app.use(express.raw({ type: "*/*", limit: "4mb" }));
app.post("/platform/webhook", async (request, response) => {
  if (!isSigned(request.body, request.get("x-hub-signature-256") ?? "")) return void response.sendStatus(401);
  const { entry } = JSON.parse(request.body.toString()) as WebhookBody;
  const updates = entry.flatMap(({ changes }) => changes.flatMap(({ value }) => value.messages));
  await insert(updates);
  response.json({ received: true });
});
listen(createServer(app));
