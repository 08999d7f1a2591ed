/** The work of one delivery, the same for each peer: sign, post with undici, insert the history row. */
import { createHmac } from "node:crypto";
import pg from "pg";
import { Agent } from "undici";

/** As Herald's: the time for the whole attempt, and the connections to Postgres. */
const [DEADLINE_MS, POOL_SIZE] = [15_000, 10];

const TABLES = `
  create table if not exists peer_destinations (
    client_id uuid primary key,
    url text not null,
    secret text not null
  );
  create table if not exists peer_events (
    id text primary key,
    client_id uuid not null,
    type text not null,
    payload text not null,
    created_at timestamptz not null default now()
  );
  create table if not exists peer_attempts (
    event_id text collate "C" not null,
    attempt integer not null,
    client_id uuid not null,
    at timestamptz not null,
    status_code integer,
    duration_ms integer not null,
    error text,
    primary key (event_id, attempt)
  )`;

const INSERT_ATTEMPT = {
  name: "insert-attempt",
  text: `insert into peer_attempts (event_id, attempt, client_id, at, status_code, duration_ms, error)
    values ($1, $2, $3, $4, $5, $6, $7)`,
};

/** Returns a function that delivers the event of a job once and records the attempt; it throws for a failed one. */
export async function createDelivery(slots) {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: POOL_SIZE });
  const agent = new Agent({ connections: slots, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const destinationOf = createDestinationCache(pool);
  await pool.query(TABLES);

  async function post(job, at) {
    const { origin, path, key } = await destinationOf(job.clientId);
    const { statusCode, body } = await agent.request({
      origin,
      path,
      method: "POST",
      headers: signedHeaders(job, key, at),
      body: job.payload,
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    await body.dump();
    return statusCode;
  }

  return async (job, attempt) => {
    const [at, began] = [new Date(), performance.now()];
    const { statusCode, error } = await post(job, at).then(
      (status) => ({ statusCode: status, error: status < 300 ? null : `HTTP ${status}` }),
      ({ message }) => ({ statusCode: null, error: message }),
    );
    const durationMs = Math.round(performance.now() - began);
    const values = [job.id, attempt, job.clientId, at, statusCode, durationMs, error];
    await pool.query({ ...INSERT_ATTEMPT, values });
    if (error !== null) throw new Error(error);
  };
}

/** Reads each destination once; a product would read it again after a while. */
function createDestinationCache(pool) {
  const cache = new Map();
  async function read(clientId) {
    const text = "select url, secret from peer_destinations where client_id = $1";
    const [row] = (await pool.query(text, [clientId])).rows;
    const url = new URL(row.url);
    return { origin: url.origin, path: url.pathname, key: Buffer.from(row.secret.slice(6), "base64") };
  }
  return (clientId) => {
    const cached = cache.get(clientId) ?? read(clientId);
    cache.set(clientId, cached);
    return cached;
  };
}

/** The headers of Standard Webhooks, as Herald sends them. */
function signedHeaders({ id, type, payload }, key, at) {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${payload}`).digest("base64");
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
    "x-webhook-event": type,
  };
}
