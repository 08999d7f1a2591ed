import { createHmac } from "node:crypto";
import pg from "pg";
import { Agent } from "undici";
import type { DeliveryJob } from "./delivery-tables.ts";

/** As Herald's: the time for the whole attempt, and the connections to Postgres. */
const [DEADLINE_MS, POOL_SIZE] = [15_000, 10];

interface Destination {
  origin: string;
  path: string;
  key: Buffer;
}

interface HistoryRow {
  attempt: number;
  at: Date;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
}

const INSERT_ATTEMPT = {
  name: "insert-attempt",
  text: `insert into peer_attempts (event_id, attempt, client_id, at, status_code, duration_ms, error)
    values ($1, $2, $3, $4, $5, $6, $7)`,
};

/** Delivers the event of a job once and records the attempt; throws when the backend did not accept it. */
export type DeliverEvent = (job: DeliveryJob, attempt: number) => Promise<void>;

/** The work of a job, the same for each peer: sign, post with undici, insert the history row. */
export function createDelivery(databaseUrl: string, slots: number): DeliverEvent {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL_SIZE });
  const agent = new Agent({ connections: slots, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const destinationOf = createDestinationCache(pool);

  async function post(job: DeliveryJob, at: Date): Promise<number> {
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

  const insert = (job: DeliveryJob, { attempt, at, statusCode, durationMs, error }: HistoryRow) =>
    pool.query({
      ...INSERT_ATTEMPT,
      values: [job.id, attempt, job.clientId, at, statusCode, durationMs, error],
    });

  return async (job, attempt) => {
    const [at, began] = [new Date(), performance.now()];
    const result = await post(job, at).then(
      (statusCode) => ({ statusCode, error: statusCode < 300 ? null : `HTTP ${statusCode}` }),
      (error: Error) => ({ statusCode: null, error: error.message }),
    );
    await insert(job, { attempt, at, durationMs: Math.round(performance.now() - began), ...result });
    if (result.error !== null) throw new Error(result.error);
  };
}

/** Reads each destination once; a product would read it again after a while. */
function createDestinationCache(pool: pg.Pool): (clientId: string) => Promise<Destination> {
  const cache = new Map<string, Promise<Destination>>();
  async function read(clientId: string): Promise<Destination> {
    const text = "select url, secret from peer_destinations where client_id = $1";
    const [row] = (await pool.query<{ url: string; secret: string }>(text, [clientId])).rows;
    if (!row) throw new Error(`client ${clientId} has no destination`);
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
function signedHeaders({ id, type, payload }: DeliveryJob, key: Buffer, at: Date): Record<string, string> {
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
