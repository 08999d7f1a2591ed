/** A peer of the dispatcher: a BullMQ worker that sends messages at a limited rate per channel. Runs as a separate process. */
import { setTimeout as sleep } from "node:timers/promises";
import { DelayedError, type Job, Worker } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { Pool } from "undici";
import { createSlots } from "./send-slots.ts";
import { SEND_QUEUE, type SendJob } from "./send-tables.ts";

const { DATABASE_URL, REDIS_URL = "", PLATFORM_URL = "", SLOTS = "", RATE = "" } = process.env;
/** A message whose slot comes later than this goes back to the queue. */
const MAX_SLOT_WAIT_MS = 1_000;
const DEADLINE_MS = 15_000;

const database = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const platform = new Pool(PLATFORM_URL, { connections: Number(SLOTS), pipelining: 1 });
const reserveSlot = createSlots(new Redis(REDIS_URL), Number(RATE));
const channels = new Map(
  (await database.query("select id, phone_number_id, token from peer_channels")).rows.map((row) => [
    row.id,
    row,
  ]),
);

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

async function send({ channelId, to, body, id }: SendJob) {
  const { phone_number_id, token } = channels.get(channelId);
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
  const { messages } = (await reply.body.json()) as { messages: [{ id: string }] };
  if (reply.statusCode !== 200) throw new Error(`the platform answered ${reply.statusCode}`);
  return { statusCode: reply.statusCode, platformId: messages[0].id };
}

/** Waits for the job's slot, in the queue when it comes late. A delayed job keeps its slot. */
async function waitForSlot(job: Job<SendJob>, token: string | undefined): Promise<void> {
  if (job.data.slotAt !== undefined) return;
  const waitMs = await reserveSlot(job.data.channelId);
  if (waitMs <= MAX_SLOT_WAIT_MS) return void (waitMs > 0 && (await sleep(waitMs)));
  const slotAt = Date.now() + waitMs;
  await job.updateData({ ...job.data, slotAt });
  await job.moveToDelayed(slotAt, token);
  throw new DelayedError();
}

async function work(job: Job<SendJob>, token: string | undefined): Promise<void> {
  await waitForSlot(job, token);
  const [at, began] = [new Date(), performance.now()];
  const { statusCode, platformId } = await send(job.data);
  const durationMs = Math.round(performance.now() - began);
  const values = [job.data.id, platformId, job.attemptsMade + 1, at, statusCode, durationMs];
  await database.query({ ...WRITE_SENT, values });
}

const worker = new Worker<SendJob>(SEND_QUEUE, work, {
  connection: { url: REDIS_URL, maxRetriesPerRequest: null },
  concurrency: Number(SLOTS),
});
worker.on("error", (error) => {
  throw error;
});
worker.on("failed", (_job, error) => {
  throw error;
});
await worker.waitUntilReady();
process.stdout.write("0\n"); // ready; it has no port
