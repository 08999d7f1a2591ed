import type { ChainableCommander, Redis } from "ioredis";
import { withTimeout } from "../runtime/async/with-timeout.ts";
import type { Config } from "../runtime/config/config.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { Database, Queryable } from "../store/database/database.ts";
import { awaitConnection, type RedisClient } from "./redis.ts";
import { CONSUMER, createGroup, GROUP, isMissingGroup } from "./streams.ts";

/**
 * A wake-up tells one of the dispatchers that a client has events to deliver. It names no row and may be lost at any time:
 * the rows wait in Postgres, and the poll of each dispatcher finds them within a second. So the stream is trimmed, and its
 * entries are not acknowledged.
 */

/** The slots of these tags lie in the middle of twelve equal ranges: 3, 4, 6 and 12 primaries get equal shares. */
const CLUSTER_TAGS = [18, 32, 50, 19, 33, 55, 106, 5, 49, 107, 4, 48];

/** Only a cluster has several tags, because only there can nodes share the load. */
export const tagsOf = ({ REDIS_URL }: Pick<Config, "REDIS_URL">): readonly number[] =>
  REDIS_URL.cluster ? CLUSTER_TAGS : CLUSTER_TAGS.slice(0, 1);

export const tagOf = (clientId: string, tags: readonly number[]): number =>
  tags[Number.parseInt(clientId.slice(-2), 16) % tags.length] as number;

/** In braces: a cluster keeps all keys with the same tag on one node. */
export const wakeUpStream = (tag: number): string => `{${tag}}:events`;

/** More than dispatchers read in a second; the poll finds what older entries named. */
const MAX_ENTRIES = 10_000;

/** Wakes a dispatcher for clients with new deliveries. */
export interface EventNotifier {
  /** Call it after the commit. It never fails and does not wait. */
  notify(clientIds: Iterable<string>): void;
}

/** Clients that are woken in the same turn of the event loop share a round trip, and each is named once. */
export function createEventNotifier(redis: RedisClient, tags: readonly number[]): EventNotifier & Worker {
  const waiting = new Set<string>();
  let sending: Promise<void> = Promise.resolve();

  async function send(clientIds: readonly string[]): Promise<void> {
    // A pipeline per tag, because it must not span the nodes of a cluster.
    const pipelines = new Map<number, ChainableCommander>();
    for (const id of clientIds) {
      const tag = tagOf(id, tags);
      const pipeline = pipelines.get(tag) ?? redis.pipeline();
      pipelines.set(tag, pipeline.xadd(wakeUpStream(tag), "MAXLEN", "~", MAX_ENTRIES, "*", "k", id));
    }
    await Promise.all([...pipelines.values()].map((pipeline) => pipeline.exec().catch(() => {})));
  }

  function flush(): void {
    const clientIds = [...waiting];
    waiting.clear();
    // Without a result: each would keep the one before.
    sending = Promise.all([sending, send(clientIds)]).then(() => {});
  }

  return {
    name: "event-notifier",
    notify(clientIds) {
      const isScheduled = waiting.size > 0;
      for (const id of clientIds) waiting.add(id);
      if (!isScheduled && waiting.size > 0) setImmediate(flush);
    },
    async close() {
      await new Promise((resolve) => setImmediate(resolve));
      await sending;
    },
  };
}

/** Collects the clients of one run of a transaction; `release` notifies and is called after the commit. */
export function deferUntilCommit(notifier: EventNotifier): EventNotifier & { release(): void } {
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
): Promise<T> {
  const { result, deferredNotifier } = await db.transaction(async (tx) => {
    const deferredNotifier = deferUntilCommit(notifier);
    return { result: await work(tx, deferredNotifier), deferredNotifier };
  });
  deferredNotifier.release();
  return result;
}

/** How long a read waits for entries, and how much longer it may take before its connection counts as dead. */
const BLOCK_MS = 1 * SECOND;
const SLACK_MS = 3 * SECOND;

export interface WakeUpReader {
  /** Returns the clients of up to `count` new entries; none when none come within a second. Throws while Redis is unavailable. */
  read(count: number): Promise<string[]>;
  close(): void;
}

/** Has a connection of its own, because a blocking read delays every command behind it. A failed read replaces it. */
export function createWakeUpReader(tag: number, connect: () => RedisClient): WakeUpReader {
  const stream = wakeUpStream(tag);
  let client: RedisClient | undefined;
  const disconnect = () => {
    client?.disconnect();
    client = undefined;
  };

  async function request(count: number): Promise<string[]> {
    client ??= connect();
    await awaitConnection(client, SLACK_MS);
    const answer = await (client as Redis).xreadgroup(
      ...(["GROUP", GROUP, CONSUMER, "COUNT", count, "BLOCK", BLOCK_MS, "NOACK"] as const),
      ...(["STREAMS", stream, ">"] as const),
    );
    const [entries] = (answer ?? []) as [string, [string, string[] | null][]][];
    return (entries?.[1] ?? []).flatMap(([, fields]) => fields?.[1] ?? []);
  }

  const requestOrCreateGroup = (count: number): Promise<string[]> =>
    request(count).catch(async (error) => {
      if (!isMissingGroup(error) || !client) throw error;
      await createGroup(client, stream);
      return [];
    });

  return {
    async read(count) {
      try {
        return await withTimeout(BLOCK_MS + SLACK_MS, requestOrCreateGroup(count), () => {
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
export async function countUnread(redis: RedisClient, tag: number): Promise<number> {
  const stream = wakeUpStream(tag);
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
