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
export function heldBack(doorbell: QueueNotifier): QueueNotifier & { release(): void } {
  const held: QueueRef[] = [];
  return {
    epoch: doorbell.epoch,
    notify: (refs) => void held.push(...refs),
    release: () => doorbell.notify(held.splice(0)),
  };
}

interface DoorbellParts<R extends QueueRef> {
  redis: RedisClient;
  streams: Streams;
  lane: Lane;
  /** Says of rows that they are in no queue. */
  unqueue(refs: readonly R[]): Promise<void>;
  log: Log;
}

/** How soon it is noticed that Redis was emptied without going away. */
const LOOK_EVERY = 5 * SECOND;

export function createQueueNotifier<R extends QueueRef = QueueRef>({
  redis,
  streams,
  lane,
  unqueue,
  log,
}: DoorbellParts<R>): QueueNotifier<R> & Worker {
  let epoch: string | null = null;
  let waiting: R[] = [];
  let timer: NodeJS.Timeout | undefined;
  const ringing = new Set<Promise<void>>();

  async function look(): Promise<void> {
    epoch = await streams.epoch().catch(() => null);
  }

  async function announce(refs: readonly R[]): Promise<void> {
    try {
      await streams.add(lane, refs);
    } catch {
      epoch = null; // until the next look: what is recorded meanwhile is the sweeper's at once
      await unqueue(refs).catch((error) => log.warn("doorbell.not_taken_back", { err: error }));
    }
  }

  /** All that was recorded in the same turn of the loop goes in one write. */
  const flush = () => {
    const refs = waiting;
    waiting = [];
    const announcing = announce(refs).finally(() => ringing.delete(announcing));
    ringing.add(announcing);
  };

  return {
    name: `doorbell of ${lane}`,
    epoch: () => epoch,
    notify(refs) {
      if (refs.length === 0) return;
      if (waiting.length === 0) setImmediate(flush);
      waiting.push(...refs);
    },
    async start() {
      redis.on("ready", look);
      timer = setInterval(look, LOOK_EVERY);
      await look();
    },
    async close() {
      redis.off("ready", look);
      clearInterval(timer);
      if (waiting.length > 0) await new Promise((resolve) => setImmediate(resolve));
      await Promise.all(ringing);
    },
  };
}
