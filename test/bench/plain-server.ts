/** The baseline: a hand-written server that inserts one row and one stream entry per message. Runs as a separate process. */
import type { AddressInfo } from "node:net";
import express from "express";
import { Redis } from "ioredis";
import pg from "pg";
import { newId } from "../../src/runtime/ids.ts";

const { DATABASE_URL, REDIS_URL = "" } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const redis = new Redis(REDIS_URL);

await pool.query("create table if not exists plain_messages (id text primary key, body jsonb not null)");
const app = express();
app.use(express.json());
app.post("/send", async (request, response) => {
  const id = newId("msg");
  await pool.query("insert into plain_messages (id, body) values ($1, $2)", [id, request.body]);
  await redis.xadd("plain", "*", "id", id);
  response.status(202).json({ message_id: id, status: "queued" });
});
const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
