import { randomInt } from "node:crypto";
import { createMessageIntake } from "../../src/domain/messages/accept-message.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { NewMessage } from "../../src/store/messages/accept-messages.ts";
import { inBatches, openProducer, type PeerModule, type Queue, workOff } from "./backlog.ts";
import type { Work } from "./case.ts";
import {
  type ArrivalTimes,
  type BenchContext,
  importPeer,
  type PeerName,
  startHerald,
  startPeer,
  startReceiver,
} from "./context.ts";
import { CHANNEL_TOKEN, type Channel, MESSAGE_TEXT, makeChatChannel, repeat } from "./tenants.ts";

/** A message to send. */
interface OutgoingText {
  channel: Channel;
  to: string;
}

interface QueueOptions {
  perSecond: number;
  platformOrigin: string;
  channels: readonly Channel[];
}

const SLOTS = "200";

const COUNT_ACCEPTED = `
  select
    count(*) filter (where status = 'accepted')::integer as done,
    coalesce(sum(attempts), 0)::integer as attempts
  from messages
  where client_id = any($1::uuid[])
  and id >= $2`;

/** Starts a dispatcher. Messages enter through the code with which web accepts them. */
async function startHeraldQueue(
  context: BenchContext,
  { perSecond, platformOrigin, channels }: QueueOptions,
): Promise<Queue<OutgoingText>> {
  const worker = await startHerald(context, "dispatcher", {
    DISPATCHER_CONCURRENCY: SLOTS,
    CHANNEL_RATE_PER_SECOND: String(perSecond),
    CHAT_PLATFORM_URL: `${platformOrigin}/v26.0`,
  });
  const producer = await openProducer(context);
  const intake = createMessageIntake({ db: producer.db, notifier: producer.messages, timeoutMs: 60_000 });
  const clientIds = channels.map(({ clientId }) => clientId);
  return {
    workers: [worker],
    processes: { dispatcher: worker.pid, ...context.servers },
    async enqueue(texts) {
      const messages = texts.map(toNewMessage);
      const outcomes = await Promise.all(messages.map(intake.accept));
      const refused = outcomes.find(({ outcome }) => outcome !== "accepted");
      if (refused) throw new Error(`a message was not accepted: ${refused.outcome}`);
      return messages.map(({ id }) => id);
    },
    async isIdle() {
      const [row] = await context.db.query<{ idle: boolean }>(
        "select not exists (select from sends) as idle",
      );
      return row?.idle === true;
    },
    async countWritten(firstId) {
      const values = [clientIds, firstId];
      const [row] = await context.db.query<{ done: number; attempts: number }>(COUNT_ACCEPTED, values);
      return row ?? { done: 0, attempts: 0 };
    },
  };
}

const toNewMessage = ({ channel, to }: OutgoingText): NewMessage => ({
  client_id: channel.clientId,
  id: newId("msg"),
  channel_id: channel.id,
  recipient: to,
  recipient_kind: "phone",
  type: "text",
  content: JSON.stringify({ body: MESSAGE_TEXT }),
  options: null,
  external_ref: null,
  request_id: newId("req"),
  send_at: null,
  status: "queued",
  key_id: null,
  fingerprint: null,
  reply_sealed: null,
});

/** Contains the message too, so that the worker does not have to read it. */
interface SendJob {
  id: string;
  channelId: string;
  to: string;
  body: string;
}

const INSERT_CHANNELS = `
  insert into peer_channels (id, phone_number_id, token)
  select id, number, $3
  from unnest($1::text[], $2::text[]) as c (id, number)`;

const INSERT_MESSAGES = `
  insert into peer_messages (id, channel_id, recipient, body)
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])`;

const COUNT_SENT = `
  select
    (select count(*) from peer_messages where id >= $1 and status = 'accepted')::integer as done,
    (select count(*) from peer_send_attempts where message_id >= $1)::integer as attempts`;

/** Starts a peer's worker, which keeps the rate of a channel with a token bucket in Redis. */
async function startPeerQueue(
  context: BenchContext,
  peer: PeerName,
  { perSecond, platformOrigin, channels }: QueueOptions,
): Promise<Queue<OutgoingText>> {
  const { db } = context;
  const env = { WORK: "sends", SLOTS, RATE: String(perSecond), PLATFORM_URL: platformOrigin };
  const worker = await startPeer(context, peer, env);
  const numbers = channels.map(({ phoneNumberId }) => phoneNumberId);
  await db.query(INSERT_CHANNELS, [channels.map(({ id }) => id), numbers, CHANNEL_TOKEN]);
  const { openJobs } = await importPeer<PeerModule<SendJob>>(peer);
  const jobs = await openJobs(context.settings);
  context.teardown(jobs.close);
  return {
    workers: [worker],
    processes: { peer: worker.pid, ...context.servers },
    async enqueue(texts) {
      const all = texts.map(({ channel, to }): SendJob => {
        return { id: newId("msg"), channelId: channel.id, to, body: MESSAGE_TEXT };
      });
      await inBatches(all, async (batch) => {
        const column = (name: keyof SendJob) => batch.map((job) => job[name]);
        await db.query(INSERT_MESSAGES, [column("id"), column("channelId"), column("to"), column("body")]);
        await jobs.add(batch);
      });
      return all.map(({ id }) => id);
    },
    isIdle: jobs.isIdle,
    async countWritten(firstId) {
      const [row] = await db.query<{ done: number; attempts: number }>(COUNT_SENT, [firstId]);
      return row ?? { done: 0, attempts: 0 };
    },
  };
}

interface SendOptions {
  /** Messages per round and channel. */
  perChannel: number;
  channels: number;
  /** The rate of a channel. */
  perSecond: number;
}

/**
 * Sends a backlog to a platform that answers after 50 ms. Measures `rate`, and the `lowest` and `highest` rate of a channel in
 * percent of its limit, after the first second's messages, which may go out at once.
 */
export const sends =
  ({ perChannel, channels: count, perSecond }: SendOptions): Work =>
  async (context, peer) => {
    const receiver = await startReceiver(context, "platform");
    const channels = await Promise.all(repeat(count, () => makeChatChannel(context)));
    const options = { perSecond, platformOrigin: receiver.origin, channels };
    const queue = await (peer ? startPeerQueue(context, peer, options) : startHeraldQueue(context, options));
    return {
      async run() {
        const items = makeTexts(
          channels,
          context.count(perChannel, Math.min(perChannel, perSecond + 2)) * count,
        );
        const { sample, arrivals } = await workOff(queue, { receiver, items, keys: count });
        const rates = ratesOf(arrivals, perSecond);
        if (rates.length === 0) return sample;
        const values = { ...sample.values, lowest: Math.min(...rates), highest: Math.max(...rates) };
        return { ...sample, values };
      },
    };
  };

/** Messages of all channels in turn, each to another person: one person's messages would wait for each other. */
function makeTexts(channels: readonly Channel[], count: number): OutgoingText[] {
  const prefix = `55${randomInt(100, 999)}`;
  return repeat(count, (index) => ({
    channel: channels[index % channels.length] as Channel,
    to: prefix + String(index).padStart(8, "0"),
  }));
}

const ratesOf = (arrivals: ArrivalTimes, perSecond: number): number[] =>
  arrivals.flatMap(([, times]) => {
    const counted = times.slice(perSecond);
    if (counted.length < 2) return [];
    const seconds = ((counted.at(-1) ?? 0) - (counted[0] ?? 0)) / 1_000;
    return (100 * (counted.length - 1)) / seconds / perSecond;
  });
