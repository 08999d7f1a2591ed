import type { RedisClient } from "../../src/queue/redis.ts";
import { createWakeUpReader, taggedKey, type WakeUpLane } from "../../src/queue/wake-ups.ts";
import { onAbort } from "../../src/runtime/async/on-abort.ts";
import { pause } from "../../src/runtime/async/pause.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/logging/log.ts";
import { createOutageLogger } from "../../src/runtime/logging/outage-logger.ts";
import type { Worker } from "../../src/runtime/supervise.ts";

interface ConsumerParts {
  lane: WakeUpLane;
  tags: readonly number[];
  connect(): RedisClient;
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
  let consuming: Promise<unknown> = Promise.resolve();

  async function consume(tag: number): Promise<void> {
    const stream = taggedKey(tag, lane);
    const reader = createWakeUpReader(stream, connect);
    onAbort(signal, reader.close);
    const outageLogger = createOutageLogger(
      log,
      { unavailable: "stream_reader.failed", recovered: "stream_reader.recovered" },
      { stream },
    );
    for (let delay = RETRY_DELAY_MS.first; !signal.aborted; ) {
      try {
        const slots = await waitForSlots();
        if (signal.aborted) return;
        const entries = await reader.read(slots);
        failingTags.delete(tag);
        outageLogger.recovered();
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
