/**
 * The work of a dispatcher with BullMQ, a queue in Redis. As a separate process it is the worker that delivers events or sends
 * messages, which WORK says; the process of the benchmark imports it to add jobs.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { DelayedError, Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { Pool } from "undici";
import { createDelivery } from "./deliver-event.js";

const QUEUE = "jobs";

/** Eight attempts with exponential delays; completed jobs leave Redis, because the history is in Postgres. */
const JOB_OPTIONS = { attempts: 8, backoff: { type: "exponential", delay: 5_000 }, removeOnComplete: true };

export async function openJobs({ REDIS_URL }) {
  const queue = new Queue(QUEUE, { connection: { url: REDIS_URL }, defaultJobOptions: JOB_OPTIONS });
  return {
    add: (jobs) => queue.addBulk(jobs.map((data) => ({ name: "job", data }))),
    async isIdle() {
      const counts = await queue.getJobCounts("wait", "prioritized", "active", "delayed");
      return Object.values(counts).every((count) => count === 0);
    },
    discard: () => queue.drain(true),
    close: () => queue.close(),
  };
}

/**
 * A token bucket of one second's slots in Redis, because BullMQ's limit per group is not in its open edition. It is
 * stored as the time at which it is full again; each call takes one slot and returns the milliseconds until it.
 */
const RESERVE_SLOT = `
  local time = redis.call("time")
  local now = time[1] * 1000 + time[2] / 1000
  local interval = tonumber(ARGV[1])
  local full = math.max(tonumber(redis.call("get", KEYS[1]) or "0"), now) + interval
  redis.call("set", KEYS[1], string.format("%.3f", full), "px", math.ceil(full - now) + 1000)
  return string.format("%.3f", math.max(0, full - now - 1000))`;

const SEND_TABLES = `
  create table if not exists peer_channels (
    id text primary key,
    phone_number_id text not null,
    token text not null
  );
  create table if not exists peer_messages (
    id text collate "C" primary key,
    channel_id text not null,
    recipient text not null,
    body text not null,
    status text not null default 'queued',
    platform_message_id text,
    created_at timestamptz not null default now()
  );
  create index if not exists peer_messages_platform_message_id on peer_messages (platform_message_id);
  create table if not exists peer_send_attempts (
    message_id text collate "C" not null,
    attempt integer not null,
    at timestamptz not null,
    status_code integer,
    duration_ms integer not null,
    primary key (message_id, attempt)
  )`;

/** The new status and the history row in one statement. */
const WRITE_SENT = {
  name: "write-sent",
  text: `with sent as (
      update peer_messages
      set status = 'accepted', platform_message_id = $2
      where id = $1
    )
    insert into peer_send_attempts (message_id, attempt, at, status_code, duration_ms)
    values ($1, $3, $4, $5, $6)`,
};

/** A message whose slot comes later than this goes back to the queue. */
const MAX_SLOT_WAIT_MS = 1_000;
const DEADLINE_MS = 15_000;

/** Returns the work of a job that sends a message at the limited rate of its channel. */
async function createSending(slots) {
  const { DATABASE_URL, REDIS_URL, PLATFORM_URL, RATE } = process.env;
  const database = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
  await database.query(SEND_TABLES);
  const platform = new Pool(PLATFORM_URL, { connections: slots, pipelining: 1 });
  const redis = new Redis(REDIS_URL);
  redis.defineCommand("reserveSlot", { numberOfKeys: 1, lua: RESERVE_SLOT });
  const channels = new Map();

  async function findChannel(id) {
    if (!channels.has(id)) {
      const { rows } = await database.query(
        "select phone_number_id, token from peer_channels where id = $1",
        [id],
      );
      channels.set(id, rows[0]);
    }
    return channels.get(id);
  }

  async function post({ channelId, to, body, id }) {
    const { phone_number_id, token } = await findChannel(channelId);
    const reply = await platform.request({
      path: `/v26.0/${phone_number_id}/messages`,
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({
        messaging_product: "whatsapp",
        recipient_type: "individual",
        to,
        type: "text",
        text: { body },
        biz_opaque_callback_data: id,
      }),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    const { messages } = await reply.body.json();
    if (reply.statusCode !== 200) throw new Error(`the platform answered ${reply.statusCode}`);
    return { statusCode: reply.statusCode, platformId: messages[0].id };
  }

  /** Waits for the job's slot, in the queue when it comes late. A delayed job keeps its slot. */
  async function waitForSlot(job, token) {
    if (job.data.slotAt !== undefined) return;
    const waitMs = Number(await redis.reserveSlot(`rate:${job.data.channelId}`, 1_000 / Number(RATE)));
    if (waitMs <= MAX_SLOT_WAIT_MS) return void (waitMs > 0 && (await sleep(waitMs)));
    const slotAt = Date.now() + waitMs;
    await job.updateData({ ...job.data, slotAt });
    await job.moveToDelayed(slotAt, token);
    throw new DelayedError();
  }

  return async (job, token) => {
    await waitForSlot(job, token);
    const [at, began] = [new Date(), performance.now()];
    const { statusCode, platformId } = await post(job.data);
    const durationMs = Math.round(performance.now() - began);
    const values = [job.data.id, platformId, job.attemptsMade + 1, at, statusCode, durationMs];
    await database.query({ ...WRITE_SENT, values });
  };
}

async function startWorker() {
  const { REDIS_URL, WORK, SLOTS } = process.env;
  const slots = Number(SLOTS);
  const isSending = WORK === "sends";
  const deliver = isSending ? undefined : await createDelivery(slots);
  const work = isSending ? await createSending(slots) : (job) => deliver(job.data, job.attemptsMade + 1);
  const worker = new Worker(QUEUE, work, {
    connection: { url: REDIS_URL, maxRetriesPerRequest: null },
    concurrency: slots,
  });
  worker.on("error", (error) => {
    throw error;
  });
  worker.on("failed", (_job, error) => {
    if (isSending) throw error;
  });
  await worker.waitUntilReady();
  process.stdout.write("0\n"); // ready; it has no port
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await startWorker();
