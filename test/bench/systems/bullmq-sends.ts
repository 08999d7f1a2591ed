import { Queue } from "bullmq";
import { newId } from "../../../src/runtime/ids.ts";
import type { BenchContext } from "../frame/context.ts";
import { serverProcesses } from "../frame/cpu.ts";
import { startProgram } from "../frame/processes.ts";
import { SEND_QUEUE, SEND_TABLES, type SendJob } from "../peers/send-tables.ts";
import { type BacklogSystem, chunksOf, suspension, type WrittenCounts } from "./backlog-system.ts";
import { type BenchChannel, CHANNEL_TOKEN, type OutgoingText } from "./send-system.ts";

interface PeerOptions {
  slots: number;
  perSecond: number;
  platformPort: number;
  channels: readonly BenchChannel[];
}

const INSERT_MESSAGES = `
  insert into peer_messages (id, channel_id, recipient, body)
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])`;

const COUNT_WRITTEN = `
  select
    (select count(*) from peer_messages where id >= $1 and status = 'accepted')::integer as done,
    (select count(*) from peer_send_attempts where message_id >= $1)::integer as attempts`;

const MAX_BATCH_ROWS = 1_000;

/** Starts BullMQ with undici and a token bucket in Redis as a peer that sends messages. */
export async function startBullmqSends(
  context: BenchContext,
  { slots, perSecond, platformPort, channels }: PeerOptions,
): Promise<BacklogSystem<OutgoingText>> {
  const { db, settings, teardown } = context;
  await makeTables(context, channels);
  const queue = new Queue<SendJob>(SEND_QUEUE, {
    connection: { url: settings.REDIS_URL as string },
    defaultJobOptions: { attempts: 1, removeOnComplete: true },
  });
  teardown(() => queue.close());
  const { pid } = await startProgram(context, "peers/bullmq-sends", {
    SLOTS: String(slots),
    RATE: String(perSecond),
    PLATFORM_URL: `http://127.0.0.1:${platformPort}`,
  });
  return {
    name: "bullmq",
    processes: { peer: pid, ...(await serverProcesses(context)) },
    async enqueue(texts) {
      const jobs = texts.map(toJob);
      for (const batch of chunksOf(jobs, MAX_BATCH_ROWS)) {
        const column = (name: "id" | "channelId" | "to" | "body") => batch.map((job) => job[name]);
        await db.query(INSERT_MESSAGES, [column("id"), column("channelId"), column("to"), column("body")]);
        await queue.addBulk(batch.map((data) => ({ name: "send", data })));
      }
      return jobs.map(({ id }) => id);
    },
    async countWritten(firstId) {
      const [row] = await db.query<WrittenCounts>(COUNT_WRITTEN, [firstId]);
      return row ?? { done: 0, attempts: 0 };
    },
    ...suspension(pid),
  };
}

const toJob = ({ channel, to, body }: OutgoingText): SendJob => ({
  id: newId("msg"),
  channelId: channel.id,
  to,
  body,
});

async function makeTables({ db }: BenchContext, channels: readonly BenchChannel[]): Promise<void> {
  for (const statement of SEND_TABLES) await db.query(statement);
  const [ids, numbers] = [channels.map(({ id }) => id), channels.map(({ phoneNumberId }) => phoneNumberId)];
  await db.query(
    `insert into peer_channels (id, phone_number_id, token)
    select id, number, $3 from unnest($1::text[], $2::text[]) as c (id, number)`,
    [ids, numbers, CHANNEL_TOKEN],
  );
}
