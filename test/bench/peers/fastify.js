/**
 * The least that accepting a message needs, as a separate process: fastify, a prepared INSERT and XADD. It checks neither an
 * API key nor the Idempotency-Key.
 */
import { fastify } from "fastify";
import { Redis } from "ioredis";
import pg from "pg";

const { DATABASE_URL, REDIS_URL } = process.env;

/** As many connections as Herald's web process has by default. */
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const redis = new Redis(REDIS_URL, { enableAutoPipelining: true });
await pool.query(`
  create table if not exists peer_messages (
    id bigint generated always as identity primary key,
    body jsonb not null,
    created_at timestamptz not null default now()
  )`);

const INSERT = { name: "insert", text: "insert into peer_messages (body) values ($1) returning id" };

const app = fastify();
app.post("/send", async (request, reply) => {
  const { rows } = await pool.query({ ...INSERT, values: [JSON.stringify(request.body)] });
  await redis.xadd("peer_messages", "*", "id", rows[0].id);
  reply.code(202);
  return { message_id: rows[0].id, status: "queued" };
});
await app.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`${app.server.address().port}\n`);
