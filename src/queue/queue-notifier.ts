import { createBatcher } from "../runtime/async/batcher.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { RedisClient } from "./redis.ts";
import type { QueueRef, Streams } from "./streams.ts";

/**
 * The notifier has an epoch or none. It gets one when Redis answers: at the start, on each reconnect and every 5 s.
 * It loses its epoch when Redis does not answer or rejects a write; new rows are then left to the sweep.
 * While the queue is held it has none either: no dispatcher reads the streams, which would grow without limit.
 */

/** Adds new rows to the streams immediately, so that they do not wait for the sweep. */
export interface QueueNotifier<R extends QueueRef = QueueRef> {
  /** The queue's epoch, stored with each row; null while Redis is unavailable or the queue is held: the sweep queues the rows. */
  epoch(): string | null;
  /** Call it after the commit. Never fails: the sweep queues the rows that Redis rejects. */
  notify(refs: readonly R[]): void;
}

interface QueueNotifierParts<R extends QueueRef> {
  redis: RedisClient;
  streams: Streams;
  /** Marks rows as not queued. */
  unmarkQueued(refs: readonly R[]): Promise<void>;
  /** Reads from Postgres whether the queue is held. */
  readIsHeld(): Promise<boolean>;
  log: Log;
}

/** Bounds the time until a hold is noticed, or an emptied Redis whose connection stayed open. */
const CHECK_INTERVAL_MS = 5 * SECOND;

export function createQueueNotifier<R extends QueueRef = QueueRef>({
  redis,
  streams,
  unmarkQueued,
  readIsHeld,
  log,
}: QueueNotifierParts<R>): QueueNotifier<R> & Worker {
  let epoch: string | null = null;
  let isHeld = false;
  let isReadingHold = false;
  let timer: NodeJS.Timeout | undefined;

  async function refreshEpoch(): Promise<void> {
    epoch = await streams.epoch().catch(() => null);
  }

  /** One read at a time, because a hanging Postgres would collect them; while it is unavailable the last answer counts. */
  async function refreshHold(): Promise<void> {
    if (isReadingHold) return;
    isReadingHold = true;
    isHeld = await readIsHeld().catch(() => isHeld);
    isReadingHold = false;
  }

  async function addToStream(refs: readonly R[]): Promise<void> {
    try {
      await streams.add("outbound", refs);
    } catch {
      epoch = null; // until the next check, new rows are stored as not queued and the sweep queues them
      await unmarkQueued(refs).catch((error) => log.warn("queue.unmark_failed", { err: error }));
    }
  }

  /** Rows committed in the same turn of the event loop share a command; commands do not wait for each other. */
  const batcher = createBatcher<readonly R[], void>({
    maxItems: Number.POSITIVE_INFINITY,
    maxRunningBatches: Number.POSITIVE_INFINITY,
    async run(groups) {
      await addToStream(groups.flat());
      return () => {};
    },
  });

  return {
    name: "outbound-notifier",
    epoch: () => (isHeld ? null : epoch),
    notify(refs) {
      if (refs.length > 0) void batcher.add(refs);
    },
    async start() {
      redis.on("ready", refreshEpoch);
      timer = setInterval(() => void Promise.all([refreshEpoch(), refreshHold()]), CHECK_INTERVAL_MS);
      void refreshHold(); // not awaited: the process may start before Postgres
      await refreshEpoch();
    },
    async close() {
      redis.off("ready", refreshEpoch);
      clearInterval(timer);
      await batcher.waitUntilBelow(1);
    },
  };
}
