import type { Test } from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase, type Database } from "../../../src/store/database/database.ts";
import { startBackend } from "../../fixtures/events/backends.ts";
import type { ClientBackend } from "../../fixtures/events/client-backend.ts";
import { configureWebhook } from "../../fixtures/events/events.ts";
import { insertClientWithLastByte } from "../../fixtures/events/queue-rows.ts";
import { startTraffic } from "../../fixtures/events/traffic.ts";
import { insertSendBacklog } from "../../fixtures/messages/backlog.ts";
import { findRateExcess, readRequestTimes } from "../../fixtures/messages/send-rate.ts";
import {
  platformSettings,
  receivedMessages,
  startMessagePlatform,
} from "../../fixtures/messages/sending-context.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { until } from "../../fixtures/until.ts";
import { longestGap } from "./longest-gap.ts";

/** A client with a page and a backend; some have a chat channel too. */
interface LoadedClient {
  id: string;
  pageId: string;
  channelId?: string;
}

/** A request that a backend received. */
interface Arrival {
  clientId: string;
  eventId: string;
  /** The platform's id of the received message; undefined for other events. */
  message: string | undefined;
  at: number;
}

export interface Population {
  settings: Record<string, string>;
  db: Database;
  clients: LoadedClient[];
  platform: ClientBackend;
  arrivals: Arrival[];
}

interface PopulationOptions {
  clients: number;
  /** Clients with a chat channel. */
  channels: number;
  settings: Record<string, string>;
}

/** Creates clients, their backends and the platform. The ids of the clients end with their number, so their tags are known. */
export async function createPopulation(t: Test, options: PopulationOptions): Promise<Population> {
  const platform = await startMessagePlatform(t);
  const settings = await testSettings(t, {
    ...platformSettings(platform),
    PRIVATE_DESTINATIONS: "127.0.0.0/8",
    ...options.settings,
  });
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const arrivals: Arrival[] = [];
  const clients: LoadedClient[] = [];
  for (let number = 0; number < options.clients; number++) {
    const id = await insertClientWithLastByte(db, number);
    await configureWebhook({ db }, { id }, { url: await startCountingBackend(t, id, arrivals) });
    const pageId = newPlatformId();
    await makeChannel({ db, config }, { id }, { platform: "socialapp", pageId });
    const channel = number < options.channels ? { channelId: await makeChannel({ db, config }, { id }) } : {};
    clients.push({ id, pageId, ...channel });
  }
  return { settings, db, clients, platform, arrivals };
}

async function startCountingBackend(t: Test, clientId: string, arrivals: Arrival[]): Promise<string> {
  const { url } = await startBackend(t, async (request, response) => {
    const { data } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const eventId = String(request.headers["webhook-id"]);
    arrivals.push({ clientId, eventId, message: data.platform_message_id, at: Date.now() });
    response.end();
  });
  return url;
}

interface LoadOptions {
  /** The address of a web process for the next webhook. */
  nextAddress(): string;
  /** Received messages per second. */
  perSecond: number;
  /** Messages that each channel has to send. */
  backlog: number;
  /** True for the clients whose pauses and latencies are measured. */
  isMeasured(clientId: string): boolean;
}

export interface LoadResult {
  items: number;
  lost: number;
  doubled: number;
  /** By how many messages the fullest window of a channel exceeds its rate. */
  rateExcess: number;
  /** The longest time in which no backend of the measured clients received anything while messages were received. */
  longestGapMs: number;
}

/** Messages that a case adds to the load by requests of its own. */
export interface AddedMessages {
  /** Received messages whose webhook was answered with 200. */
  received: readonly string[];
  /** Ids of the messages that were accepted, by channel. */
  sent: ReadonlyMap<string, readonly string[]>;
}

const NO_MESSAGES: AddedMessages = { received: [], sent: new Map() };

export interface Load {
  /** Messages whose webhook was answered with 200. */
  acknowledged: readonly string[];
  /** Stops the webhooks, and waits until all messages are sent and all events delivered. */
  finish(added?: AddedMessages): Promise<LoadResult>;
  /**
   * Median milliseconds from acknowledgement to arrival, of the messages of measured clients that were acknowledged in a window;
   * undefined for less than 10.
   */
  latency(window: { from: number; to: number }): number | undefined;
}

const MESSAGES_PER_WEBHOOK = 10;
const MIN_LATENCIES = 10;

/** Webhooks arrive for all clients, and the channels send their backlogs. */
export async function startLoad(population: Population, options: LoadOptions): Promise<Load> {
  const { db, clients, platform, arrivals } = population;
  const backlogs = await insertBacklogs(population, options.backlog);
  const pages = clients.map(({ pageId }) => pageId);
  const startedAt = Date.now();
  const traffic = startTraffic({ ...options, pages, messagesPerWebhook: MESSAGES_PER_WEBHOOK });
  const clientOf = (message: string) =>
    (clients[Number(message.split("_")[1]) % clients.length] as LoadedClient).id; // the names of traffic.ts

  return {
    acknowledged: traffic.acknowledged,
    async finish(added = NO_MESSAGES) {
      await traffic.stop();
      const stoppedAt = Date.now();
      await untilEmpty(db, "sends");
      await untilEmpty(db, "delivery_queue");
      const events = await db.query<{ id: string; message: string | null }>(
        "select id, payload::json -> 'data' ->> 'platform_message_id' as message from events",
      );
      const recorded = events.flatMap(({ message }) => message ?? []);
      const delivered = arrivals.map(({ eventId }) => eventId);
      const sent = receivedMessages(platform).map(({ id }) => id);
      const queues = backlogs.map(({ channelId, ids }) => [...ids, ...(added.sent.get(channelId) ?? [])]);
      const queued = queues.flat();
      const eventIds = events.map(({ id }) => id);
      return {
        items: events.length + queued.length,
        lost:
          countMissing([...traffic.acknowledged, ...added.received], recorded) +
          countMissing(eventIds, delivered) +
          countMissing(queued, sent),
        doubled: countRepeated(recorded) + countRepeated(delivered) + countRepeated(sent),
        rateExcess: await worstRateExcess(population, queues),
        longestGapMs: longestGap(
          arrivals.flatMap(({ clientId, at }) => (options.isMeasured(clientId) ? [at] : [])),
          { from: startedAt, to: stoppedAt },
        ),
      };
    },
    latency({ from, to }) {
      const arrivedAt = new Map(arrivals.toReversed().map(({ message, at }) => [message, at]));
      const latencies = [...traffic.acknowledgedAt]
        .filter(([message, at]) => at >= from && at < to && options.isMeasured(clientOf(message)))
        .map(([message, at]) => (arrivedAt.get(message) ?? Number.POSITIVE_INFINITY) - at)
        .sort((one, other) => one - other);
      return latencies.length < MIN_LATENCIES ? undefined : latencies[Math.floor(latencies.length / 2)];
    },
  };
}

interface Backlog {
  channelId: string;
  ids: readonly string[];
}

async function insertBacklogs({ db, clients }: Population, count: number): Promise<Backlog[]> {
  const backlogs = clients.map(async ({ id, channelId }) =>
    channelId === undefined
      ? []
      : [{ channelId, ids: await insertSendBacklog(db, { tenant: { id }, channelId, count }) }],
  );
  return (await Promise.all(backlogs)).flat();
}

const untilEmpty = (db: Database, table: "sends" | "delivery_queue"): Promise<boolean> =>
  until(`${table} is empty`, async () => (await db.query(`select 1 from ${table} limit 1`)).length === 0);

function countMissing(wanted: readonly string[], found: readonly string[]): number {
  const ids = new Set(found);
  return wanted.filter((id) => !ids.has(id)).length;
}

const countRepeated = (ids: readonly string[]): number => ids.length - new Set(ids).size;

async function worstRateExcess({ db, settings }: Population, queues: readonly string[][]): Promise<number> {
  const rate = Number(settings.CHANNEL_RATE_PER_SECOND);
  const excesses = queues.map(async (ids) => findRateExcess(await readRequestTimes({ db }, ids), rate));
  return Math.max(...(await Promise.all(excesses)));
}
