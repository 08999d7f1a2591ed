/**
 * The work of web as it is usually written with express, as a separate process:
 * POST /send checks an API key and the Idempotency-Key, stores the message and queues it in a Redis stream.
 * POST /platform/webhook verifies the HMAC of the body and stores each update as it came, each in a transaction of its own or,
 * with MULTI_ROW, all in one statement. It does not deduplicate, find the owner or queue a delivery.
 * POST /images decodes an image on the event loop and sends it to the ad platform; POST /platform/... is that platform.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import express from "express";
import { Redis } from "ioredis";
import { LRUCache } from "lru-cache";
import pg from "pg";

const {
  DATABASE_URL,
  REDIS_URL,
  API_KEY = "",
  PLATFORM_APP_SECRET = "",
  MULTI_ROW,
  AD_PLATFORM_URL,
} = process.env;

/** As many connections as Herald's web process has by default. */
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const redis = new Redis(REDIS_URL, { enableAutoPipelining: true });
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

await pool.query(`
  create table if not exists peer_keys (hash text primary key, client_id text not null);
  create table if not exists peer_messages (
    id bigint generated always as identity primary key,
    body jsonb not null,
    created_at timestamptz not null default now()
  );
  create table if not exists peer_idempotency_keys (
    client_id text not null,
    key text not null,
    request_hash text not null,
    message_id bigint not null,
    created_at timestamptz not null default now(),
    primary key (client_id, key)
  );
  create table if not exists peer_updates (
    id bigint generated always as identity primary key,
    message_id text not null,
    raw json not null,
    received_at timestamptz not null default now()
  );
  insert into peer_keys values ('${sha256(API_KEY)}', 'client') on conflict do nothing`);

/** A revoked key works for up to four seconds more, as in Herald. */
const clients = new LRUCache({ max: 10_000, ttl: 4_000 });

async function findClient(hash) {
  const cached = clients.get(hash);
  if (cached) return cached;
  const { rows } = await pool.query("select client_id from peer_keys where hash = $1", [hash]);
  if (rows[0]) clients.set(hash, rows[0].client_id);
  return rows[0]?.client_id;
}

async function authenticate(request, response, next) {
  response.locals.clientId = await findClient(sha256(request.get("x-svc-api-key") ?? ""));
  if (response.locals.clientId) next();
  else response.status(401).json({ error: "unauthorized" });
}

/** Stores the key and the message together; there is no row when the key is known. */
const STORE_ONCE = {
  name: "store_once",
  text: `with message as (
      select nextval('peer_messages_id_seq') as id
    ), new_key as (
      insert into peer_idempotency_keys (client_id, key, request_hash, message_id)
      select $1, $2, $3, id from message
      on conflict do nothing
      returning message_id
    )
    insert into peer_messages (id, body)
    overriding system value
    select message_id, $4::jsonb from new_key
    returning id`,
};

const toReply = (id) => ({ message_id: id, status: "queued" });

async function replay({ clientId, key, hash }, response) {
  const { rows } = await pool.query(
    "select message_id, request_hash from peer_idempotency_keys where client_id = $1 and key = $2",
    [clientId, key],
  );
  if (rows[0].request_hash !== hash) response.status(409).json({ error: "idempotency_conflict" });
  else response.status(202).json(toReply(rows[0].message_id));
}

async function send(request, response) {
  const body = JSON.stringify(request.body);
  const accepted = {
    clientId: response.locals.clientId,
    key: request.get("idempotency-key") ?? "",
    hash: sha256(body),
  };
  const { rows } = await pool.query({ ...STORE_ONCE, values: [...Object.values(accepted), body] });
  if (!rows[0]) return replay(accepted, response);
  await redis.xadd("peer_messages", "*", "id", rows[0].id);
  response.status(202).json(toReply(rows[0].id));
}

function isSigned(body, signature) {
  const digest = createHmac("sha256", PLATFORM_APP_SECRET).update(body).digest("hex");
  const [expected, actual] = [Buffer.from(`sha256=${digest}`), Buffer.from(signature)];
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

const insertUpdates = (updates) =>
  pool.query({
    name: "insert_updates",
    text: `insert into peer_updates (message_id, raw)
      select message_id, raw::json
      from unnest($1::text[], $2::text[]) as updates (message_id, raw)`,
    values: [updates.map(({ id }) => id), updates.map((update) => JSON.stringify(update))],
  });

async function insertEach(updates) {
  for (const update of updates)
    await pool.query({
      name: "insert_update",
      text: "insert into peer_updates (message_id, raw) values ($1, $2)",
      values: [update.id, JSON.stringify(update)],
    });
}

async function receiveWebhook(request, response) {
  if (!isSigned(request.body, request.get("x-hub-signature-256") ?? "")) return void response.sendStatus(401);
  const { entry } = JSON.parse(request.body.toString());
  const updates = entry.flatMap(({ changes }) => changes.flatMap(({ value }) => value.messages));
  await (MULTI_ROW ? insertUpdates(updates) : insertEach(updates));
  response.json({ received: true });
}

async function uploadImage(request, response) {
  const body = Buffer.from(request.body.bytes_base64, "base64");
  const reply = await fetch(AD_PLATFORM_URL, { method: "POST", body });
  response.json(await reply.json());
}

const UPLOADED = { images: { file: { hash: "2dd5a6417c24b8a4e6374de0b6960a6d" } } };

const app = express().disable("x-powered-by").disable("etag");
app.post("/send", authenticate, express.json(), send);
app.post("/platform/webhook", express.raw({ type: "*/*", limit: "4mb" }), receiveWebhook);
app.post("/images", express.json({ limit: "10mb" }), uploadImage);
app.get("/me", (_request, response) => void response.json({ client_name: "Bench" }));
app.post("/platform/{*path}", (request, response) => {
  request.on("end", () => response.json(UPLOADED)).resume();
});
const server = createServer(app);
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
