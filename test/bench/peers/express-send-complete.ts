/**
 * A peer of the intake with two more of Herald's promises: the caller is authenticated by an API key, and a request that
 * is repeated with the same Idempotency-Key gets the first reply.
 */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import express, { type NextFunction, type Request, type Response } from "express";
import { LRUCache } from "lru-cache";
import { newId } from "../../../src/runtime/ids.ts";
import { listen } from "./listen.ts";
import { createTable, insertMessage, pool, queueMessage, toReply } from "./message-store.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

await createTable();
await pool.query("create table peer_keys (hash text primary key, client_id text not null)");
await pool.query("insert into peer_keys values ($1, 'client')", [sha256(process.env.API_KEY ?? "")]);
await pool.query(`create table peer_idempotency_keys (
  client_id text not null,
  key text not null,
  request_hash text not null,
  message_id text not null,
  created_at timestamptz not null default now(),
  primary key (client_id, key)
)`);

/** A revoked key works for up to four seconds more, as in Herald. */
const clients = new LRUCache<string, string>({ max: 10_000, ttl: 4_000 });

async function findClient(hash: string): Promise<string | undefined> {
  const cached = clients.get(hash);
  if (cached) return cached;
  const { rows } = await pool.query("select client_id from peer_keys where hash = $1", [hash]);
  if (rows[0]) clients.set(hash, rows[0].client_id);
  return rows[0]?.client_id;
}

async function authenticate(request: Request, response: Response, next: NextFunction) {
  response.locals.clientId = await findClient(sha256(request.get("x-svc-api-key") ?? ""));
  if (response.locals.clientId) next();
  else response.status(401).json({ error: "unauthorized" });
}

const INSERT_KEY = `insert into peer_idempotency_keys (client_id, key, request_hash, message_id)
  values ($1, $2, $3, $4)
  on conflict do nothing`;

interface AcceptedRequest {
  clientId: string;
  key: string;
  hash: string;
  body: unknown;
}

/** Stores the key and the message together; returns undefined when the key is known. */
async function storeOnce({ clientId, key, hash, body }: AcceptedRequest): Promise<string | undefined> {
  const id = newId("msg");
  const connection = await pool.connect();
  try {
    await connection.query("begin");
    const values = [clientId, key, hash, id];
    const { rowCount } = await connection.query({ name: "insert_key", text: INSERT_KEY, values });
    if (rowCount === 1) await insertMessage(connection, id, body);
    await connection.query("commit");
    return rowCount === 1 ? id : undefined;
  } catch (error) {
    await connection.query("rollback");
    throw error;
  } finally {
    connection.release();
  }
}

async function replay({ clientId, key, hash }: AcceptedRequest, response: Response) {
  const { rows } = await pool.query(
    "select message_id, request_hash from peer_idempotency_keys where client_id = $1 and key = $2",
    [clientId, key],
  );
  if (rows[0].request_hash !== hash) response.status(409).json({ error: "idempotency_conflict" });
  else response.status(202).json(toReply(rows[0].message_id));
}

const app = express().disable("x-powered-by").disable("etag");
app.use(authenticate, express.json());
app.post("/send", async (request, response) => {
  const { clientId } = response.locals;
  const { body } = request;
  const accepted = {
    clientId,
    key: request.get("idempotency-key") ?? "",
    hash: sha256(JSON.stringify(body)),
    body,
  };
  const id = await storeOnce(accepted);
  if (id === undefined) return replay(accepted, response);
  await queueMessage(id);
  response.status(202).json(toReply(id));
});
listen(createServer(app));
