import type { ChainableCommander, Redis } from "ioredis";
import { onAbort, pause, withTimeout } from "../runtime/async/timeouts-and-retries.ts";
import type { Config } from "../runtime/config/config.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/log.ts";
import { createOutageLogger } from "../runtime/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { Database, Queryable, TransactionLimits } from "../store/database/database.ts";
import { awaitConnection, type ReadConnector, type RedisClient } from "./redis.ts";

/**
 * A wake-up tells one of the dispatchers that a client has events to deliver, or a channel messages to send. It names no row
 * and may be lost at any time: the rows wait in Postgres, and the poll of each dispatcher finds them within a second. So
 * the streams are trimmed, and their entries are not acknowledged.
 */

/** The slots of these tags lie in the middle of twelve equal ranges: 3, 4, 6 and 12 primaries get equal shares. */
const CLUSTER_TAGS = [18, 32, 50, 19, 33, 55, 106, 5, 49, 107, 4, 48];

/** Only a cluster has several tags, because only there can nodes share the load. */
export const tagsOf = ({ REDIS_URL }: Pick<Config, "REDIS_URL">): readonly number[] =>
  REDIS_URL.cluster ? CLUSTER_TAGS : CLUSTER_TAGS.slice(0, 1);

export const tagOf = (clientId: string, tags: readonly number[]): number =>
  tags[Number.parseInt(clientId.slice(-2), 16) % tags.length] as number;

/** A key in Redis. In braces: a cluster keeps all keys with the same tag on one node. */
export const taggedKey = (tag: number, name: string): string => `{${tag}}:${name}`;

/** The streams of wake-ups. */
type WakeUpLane = "events" | "outbound";

/** Wakes a dispatcher for new rows. */
export interface Notifier<K> {
  /** Call it after the commit. It never fails and does not wait. */
  notify(keys: Iterable<K>): void;
}

/** Wakes a dispatcher for clients with new deliveries. */
export type EventNotifier = Notifier<string>;

/** A channel with messages to send; those of a batch have a key of their own. */
export interface OutboundKey {
  clientId: string;
  channelId: string;
  batchId: string;
}

/** Wakes a dispatcher for channels with new messages. */
export type MessageNotifier = Notifier<OutboundKey>;

export const createEventNotifier = (redis: RedisClient, tags: readonly number[]) =>
  createNotifier<string>(redis, tags, { lane: "events", fieldsOf: (clientId) => [clientId] });

export const createMessageNotifier = (redis: RedisClient, tags: readonly number[]) =>
  createNotifier<OutboundKey>(redis, tags, {
    lane: "outbound",
    fieldsOf: ({ clientId, channelId, batchId }) => [clientId, channelId, batchId],
  });

interface LaneParts<K> {
  lane: WakeUpLane;
  /** The fields of an entry; the client's id comes first. */
  fieldsOf(key: K): readonly [clientId: string, ...rest: string[]];
}

/** More than dispatchers read in a second; the poll finds what older entries named. */
const MAX_ENTRIES = 10_000;

/** Names of the fields of an entry, in order. */
const FIELD_NAMES = ["k", "c", "b"] as const;

/** Keys that are woken in the same turn of the event loop share a round trip, and each is named once. */
function createNotifier<K>(
  redis: RedisClient,
  tags: readonly number[],
  { lane, fieldsOf }: LaneParts<K>,
): Notifier<K> & Worker {
  const waiting = new Map<string, K>();
  let sending: Promise<void> = Promise.resolve();

  async function send(keys: readonly K[]): Promise<void> {
    // A pipeline per tag, because it must not span the nodes of a cluster.
    const pipelines = new Map<number, ChainableCommander>();
    for (const key of keys) {
      const values = fieldsOf(key);
      const tag = tagOf(values[0], tags);
      const pipeline = pipelines.get(tag) ?? redis.pipeline();
      const fields = values.flatMap((value, index) => [FIELD_NAMES[index] as string, value]);
      pipelines.set(tag, pipeline.xadd(taggedKey(tag, lane), "MAXLEN", "~", MAX_ENTRIES, "*", ...fields));
    }
    await Promise.all([...pipelines.values()].map((pipeline) => pipeline.exec().catch(() => {})));
  }

  function flush(): void {
    const keys = [...waiting.values()];
    waiting.clear();
    // Without a result: each would keep the one before.
    sending = Promise.all([sending, send(keys)]).then(() => {});
  }

  return {
    name: `${lane}-notifier`,
    notify(keys) {
      const isScheduled = waiting.size > 0;
      for (const key of keys) waiting.set(fieldsOf(key).join(" "), key);
      if (!isScheduled && waiting.size > 0) setImmediate(flush);
    },
    async close() {
      await new Promise((resolve) => setImmediate(resolve));
      await sending;
    },
  };
}

/** Collects the clients of one run of a transaction; `release` notifies and is called after the commit. */
function deferUntilCommit(notifier: EventNotifier): EventNotifier & { release(): void } {
  const deferred: string[] = [];
  return {
    notify: (clientIds) => void deferred.push(...clientIds),
    release: () => notifier.notify(deferred.splice(0)),
  };
}

/** Runs a transaction and notifies after its commit. After a deadlock only the clients of the last run count. */
export async function notifyAfterCommit<T>(
  { db, notifier }: { db: Database; notifier: EventNotifier },
  work: (tx: Queryable, deferredNotifier: EventNotifier) => Promise<T>,
  limits?: TransactionLimits,
): Promise<T> {
  const { result, deferredNotifier } = await db.transaction(async (tx) => {
    const deferredNotifier = deferUntilCommit(notifier);
    return { result: await work(tx, deferredNotifier), deferredNotifier };
  }, limits);
  deferredNotifier.release();
  return result;
}

interface ConsumerParts {
  lane: WakeUpLane;
  tags: readonly number[];
  connect: ReadConnector;
  /** Waits until this dispatcher has slots for new rows: a full one leaves wake-ups to others. */
  waitForSlots(): Promise<number>;
  /** Called with the values of each entry. */
  wake(entries: readonly string[][]): void;
  log: Log;
}

const RETRY_DELAY_MS = { first: 200, max: 1 * SECOND };

/** Reads the wake-ups of a lane while this dispatcher has free slots for it. */
export function createWakeUpConsumer({ lane, tags, connect, waitForSlots, wake, log }: ConsumerParts) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const failingTags = new Set<number>();
  const outageLogger = createOutageLogger(
    log,
    { unavailable: "stream_reader.failed", recovered: "stream_reader.recovered" },
    { lane },
  );
  let consuming: Promise<unknown> = Promise.resolve();

  async function consume(tag: number): Promise<void> {
    const reader = createWakeUpReader(taggedKey(tag, lane), connect);
    onAbort(signal, reader.close);
    for (let delay = RETRY_DELAY_MS.first; !signal.aborted; ) {
      try {
        const slots = await waitForSlots();
        if (signal.aborted) return;
        const entries = await reader.read(slots);
        failingTags.delete(tag);
        if (failingTags.size === 0) outageLogger.recovered();
        delay = RETRY_DELAY_MS.first;
        wake(entries);
      } catch (error) {
        if (signal.aborted) return;
        failingTags.add(tag);
        outageLogger.failed(error);
        await pause(delay, signal);
        delay = Math.min(2 * delay, RETRY_DELAY_MS.max);
      }
    }
  }

  const worker: Worker = {
    name: `${lane}-wake-ups`,
    async start() {
      consuming = Promise.all(tags.map(consume));
    },
    async close() {
      stopping.abort();
      await consuming;
    },
  };
  return {
    ...worker,
    /** False while the wake-ups of some clients cannot be read. */
    isReading: (): boolean => failingTags.size === 0,
  };
}

/** All dispatchers share one group and one consumer: the rows record which worker claimed them. */
const GROUP = "herald";
const CONSUMER = "dispatcher";

/** The group starts at the first entry, so that it reads entries added before it existed. */
async function createGroup(redis: RedisClient, stream: string): Promise<void> {
  await redis.xgroup("CREATE", stream, GROUP, "0", "MKSTREAM").catch((error: Error) => {
    if (!error.message.startsWith("BUSYGROUP")) throw error;
  });
}

/** True when the stream is new, or when Redis came back empty. */
const isMissingGroup = (error: unknown): boolean =>
  error instanceof Error && /^(NOGROUP|UNBLOCKED)/.test(error.message);

/** How long a read waits for entries, and how much longer it may take before its connection counts as dead. */
export const BLOCK_MS = 1 * SECOND;
const SLACK_MS = 3 * SECOND;

export interface WakeUpReader {
  /** Returns the values of up to `count` new entries; none when none come within a second. Throws while Redis is unavailable. */
  read(count: number): Promise<string[][]>;
  close(): void;
}

/** Reads the wake-ups of a stream that no other dispatcher has read. */
export function createWakeUpReader(stream: string, connect: ReadConnector): WakeUpReader {
  const reader = createBlockingReader(() => connect(stream));
  async function request(client: RedisClient, count: number): Promise<string[][]> {
    const answer = await (client as Redis).xreadgroup(
      ...(["GROUP", GROUP, CONSUMER, "COUNT", count, "BLOCK", BLOCK_MS, "NOACK"] as const),
      ...(["STREAMS", stream, ">"] as const),
    );
    return entriesOf(answer).map(({ values }) => values);
  }

  const requestOrCreateGroup = (client: RedisClient, count: number): Promise<string[][]> =>
    request(client, count).catch(async (error) => {
      if (!isMissingGroup(error)) throw error;
      await createGroup(client, stream);
      return [];
    });

  return {
    read: (count) => reader.read((client) => requestOrCreateGroup(client, count)),
    close: reader.close,
  };
}

export interface StreamEntry {
  stream: string;
  id: string;
  /** The values of its fields. */
  values: string[];
}

/** The entries in an answer to XREAD or XREADGROUP. */
export const entriesOf = (answer: unknown): StreamEntry[] =>
  ((answer ?? []) as [string, [string, string[] | null][]][]).flatMap(([stream, entries]) =>
    entries.map(([id, fields]) => ({
      stream,
      id,
      values: (fields ?? []).filter((_, index) => index % 2 === 1),
    })),
  );

/** Has a connection of its own, because a blocking read delays every command behind it. A failed read replaces it. */
export function createBlockingReader(connect: () => RedisClient) {
  let client: RedisClient | undefined;
  const disconnect = () => {
    client?.disconnect();
    client = undefined;
  };
  async function request<T>(send: (client: RedisClient) => Promise<T>): Promise<T> {
    client ??= connect();
    await awaitConnection(client, SLACK_MS);
    return send(client);
  }
  return {
    /** `send` waits up to BLOCK_MS for entries. Throws while Redis is unavailable. */
    async read<T>(send: (client: RedisClient) => Promise<T>): Promise<T> {
      try {
        return await withTimeout(BLOCK_MS + SLACK_MS, request(send), () => {
          throw new Error("the blocking read from Redis did not end in time");
        });
      } catch (error) {
        disconnect();
        throw error;
      }
    },
    close: disconnect,
  };
}

/** Counts the entries that no dispatcher has read. */
export async function countUnread(redis: RedisClient, stream: string): Promise<number> {
  const groups = (await redis.xinfo("GROUPS", stream).catch((error: Error) => {
    if (error.message.includes("no such key")) return [];
    throw error;
  })) as unknown[][];
  const [group] = groups;
  if (!group) return redis.xlen(stream);
  const field = (name: string) => group[group.indexOf(name) + 1];
  const lag = field("lag");
  // Redis does not know it after unread entries were trimmed. The stream is short then.
  return typeof lag === "number"
    ? lag
    : (await redis.xrange(stream, `(${field("last-delivered-id")}`, "+")).length;
}
