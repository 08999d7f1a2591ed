import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { RedisClient } from "./redis.ts";
import type { Lane, QueueRef, Streams } from "./streams.ts";

/** Tells the dispatchers at once what has just been recorded, so that it does not wait for the sweeper. */
export interface QueueNotifier<R extends QueueRef = QueueRef> {
  /** The life of Redis that would hear it; null while it would not. Recorded with the row. */
  epoch(): string | null;
  /** After the commit; nobody waits for it. What is not heard is left to the sweeper. */
  notify(refs: readonly R[]): void;
}

/** For what is recorded in a transaction: rings only once that is over. */
export function deferUntilCommit(notifier: QueueNotifier): QueueNotifier & { release(): void } {
  const deferred: QueueRef[] = [];
  return {
    epoch: notifier.epoch,
    notify: (refs) => void deferred.push(...refs),
    release: () => notifier.notify(deferred.splice(0)),
  };
}

interface QueueNotifierParts<R extends QueueRef> {
  redis: RedisClient;
  streams: Streams;
  lane: Lane;
  /** Says of rows that they are in no queue. */
  unmarkQueued(refs: readonly R[]): Promise<void>;
  log: Log;
}

/** How soon it is noticed that Redis was emptied without going away. */
const EPOCH_CHECK_INTERVAL_MS = 5 * SECOND;

export function createQueueNotifier<R extends QueueRef = QueueRef>({
  redis,
  streams,
  lane,
  unmarkQueued,
  log,
}: QueueNotifierParts<R>): QueueNotifier<R> & Worker {
  let epoch: string | null = null;
  let waiting: R[] = [];
  let timer: NodeJS.Timeout | undefined;
  const writes = new Set<Promise<void>>();

  async function refreshEpoch(): Promise<void> {
    epoch = await streams.epoch().catch(() => null);
  }

  async function addToStream(refs: readonly R[]): Promise<void> {
    try {
      await streams.add(lane, refs);
    } catch {
      epoch = null; // until the next look: what is recorded meanwhile is the sweeper's at once
      await unmarkQueued(refs).catch((error) => log.warn("queue.unmark_failed", { err: error }));
    }
  }

  /** All that was recorded in the same turn of the loop goes in one write. */
  const flush = () => {
    const refs = waiting;
    waiting = [];
    const write = addToStream(refs).finally(() => writes.delete(write));
    writes.add(write);
  };

  return {
    name: `${lane}-notifier`,
    epoch: () => epoch,
    notify(refs) {
      if (refs.length === 0) return;
      if (waiting.length === 0) setImmediate(flush);
      waiting.push(...refs);
    },
    async start() {
      redis.on("ready", refreshEpoch);
      timer = setInterval(refreshEpoch, EPOCH_CHECK_INTERVAL_MS);
      await refreshEpoch();
    },
    async close() {
      redis.off("ready", refreshEpoch);
      clearInterval(timer);
      if (waiting.length > 0) await new Promise((resolve) => setImmediate(resolve));
      await Promise.all(writes);
    },
  };
}
