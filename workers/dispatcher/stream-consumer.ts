import { setMaxListeners } from "node:events";
import type { QueueHold } from "../../src/queue/queue-hold.ts";
import type { RedisClient } from "../../src/queue/redis.ts";
import { createStreamReader } from "../../src/queue/stream-reader.ts";
import { type Entry, isMissingGroup, type Lane, type Stream, type Streams } from "../../src/queue/streams.ts";
import { pause } from "../../src/runtime/async/pause.ts";
import { retryUntil } from "../../src/runtime/async/retry-until.ts";
import { withTimeout } from "../../src/runtime/async/with-timeout.ts";
import {
  ABANDON_WRITES_AFTER_MS,
  ABORT_DELIVERIES_AFTER_MS,
  DISPATCHER_CLOSE_TIMEOUT_MS,
  RECLAIM_IDLE_MS,
} from "../../src/runtime/deadlines.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { type IdPrefix, isClientId, isPrefixedId } from "../../src/runtime/ids.ts";
import type { Log } from "../../src/runtime/logging/log.ts";
import { createOutageLogger } from "../../src/runtime/logging/outage-logger.ts";
import type { Worker } from "../../src/runtime/supervise.ts";

/**
 * The dispatcher is consuming from `start` to `close`: two loops per stream read new entries and reclaim those of dead
 * dispatchers, and pass both to the lane's `dispatch`. `close` makes it draining: reading stops, entries without a claim
 * go back to the stream, and calls in flight may end; deliveries still open after ABORT_DELIVERIES_AFTER_MS are aborted,
 * outcomes unwritten after ABANDON_WRITES_AFTER_MS are abandoned. It is closed when nothing is in flight, or after
 * DISPATCHER_CLOSE_TIMEOUT_MS. While the queue is held, both loops wait.
 */

/** A lane, and how its entries are processed. */
export interface LaneParts {
  lane: Lane;
  /** Waits until the lane has free slots; returns how many. */
  waitForFreeSlots(): Promise<number>;
  freeSlots(): number;
  idPrefix: IdPrefix;
  /** False when the process stops before all rows are claimed or parked. */
  dispatch(entries: readonly Entry[]): Promise<boolean>;
}

/** The deliveries or the sends in flight in this process. */
export interface InFlight {
  /** Deliveries or sends in flight in this process. */
  count(): number;
  /** Starts no further calls from now on. */
  stop(): void;
  /** Resolves when nothing is in flight. */
  drain(): Promise<void>;
  /** Aborts the open calls that may be repeated. */
  abort(): void;
  /** Stops waiting for outcomes to be written: other workers recover the rows when the leases expire. */
  abandonWrites(): void;
}

interface DispatcherParts {
  streams: Streams;
  lanes: readonly LaneParts[];
  inFlight: readonly InFlight[];
  connect(): RedisClient;
  hold: Pick<QueueHold, "isHeld" | "waitForRelease">;
  /** Sweeps and checks that start and close with the dispatcher. */
  backgroundWorkers: readonly Worker[];
  log: Log;
}

const RECLAIM_INTERVAL_MS = 5 * SECOND;
/** A background worker may hang in a query; it holds no claims, so the shutdown does not wait longer. */
const BACKGROUND_CLOSE_TIMEOUT_MS = 2 * SECOND;

export function dispatcher(parts: DispatcherParts): Worker {
  const { streams, lanes, inFlight, backgroundWorkers, log } = parts;
  const callEach = (method: "stop" | "abort" | "abandonWrites") => () => {
    for (const group of inFlight) group[method]();
  };
  const countInFlight = () => inFlight.reduce((sum, group) => sum + group.count(), 0);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // two listeners per stream, which is no leak
  let consuming: Promise<unknown> = Promise.resolve();
  return {
    name: "dispatcher",
    async start(lifecycle) {
      for (const worker of backgroundWorkers) await worker.start?.(lifecycle);
      consuming = Promise.all(
        lanes.flatMap((lane) =>
          streams.all
            .filter((stream) => stream.lane === lane.lane)
            .flatMap((stream) => {
              const task = { ...parts, ...lane, stream };
              return [consumeStream(task, stopping.signal), reclaimEntries(task, stopping.signal)];
            }),
        ),
      );
    },
    async close() {
      stopping.abort();
      callEach("stop")();
      const began = performance.now();
      const countAtStop = countInFlight();
      const timers = [
        setTimeout(callEach("abort"), ABORT_DELIVERIES_AFTER_MS),
        setTimeout(callEach("abandonWrites"), ABANDON_WRITES_AFTER_MS),
      ];
      const closing = backgroundWorkers.map(async (worker) =>
        withTimeout(BACKGROUND_CLOSE_TIMEOUT_MS, Promise.resolve(worker.close?.()), () => {}),
      );
      const drainAll = () => Promise.all(inFlight.map((group) => group.drain()));
      const drained = Promise.all([consuming, ...closing]).then(drainAll);
      await withTimeout(DISPATCHER_CLOSE_TIMEOUT_MS, drained, () => {});
      for (const timer of timers) clearTimeout(timer);
      const ms = Math.round(performance.now() - began);
      log.info("dispatcher.drained", { in_flight: countAtStop, left: countInFlight(), ms });
    },
  };
}

/** A stream and its lane. */
type StreamTask = DispatcherParts & LaneParts & { stream: Stream };

/** Reads no more entries than can start: other dispatchers reclaim entries that wait too long. */
async function consumeStream(task: StreamTask, signal: AbortSignal): Promise<void> {
  const { streams, stream, log, connect } = task;
  const reader = createStreamReader(stream.key, connect);
  const readNext = async (): Promise<Entry[]> => {
    await task.hold.waitForRelease(signal);
    const freeSlots = await task.waitForFreeSlots();
    if (signal.aborted) return [];
    try {
      return await reader.read(Math.ceil(freeSlots / streams.partitions));
    } catch (error) {
      if (!isMissingGroup(error)) throw error;
      await streams.createGroup(stream.key);
      return [];
    }
  };
  const outageLogger = createOutageLogger(
    log,
    { unavailable: "stream_reader.failed", recovered: "stream_reader.recovered" },
    { stream: stream.key },
  );
  const retryOptions = { signal, firstDelayMs: 200, maxDelayMs: 1 * SECOND, onFault: outageLogger.failed };
  while (!signal.aborted) {
    const entries = (await retryUntil(readNext, retryOptions)) ?? [];
    if (signal.aborted) {
      await requeue(task, entries);
      break;
    }
    outageLogger.recovered();
    await dispatchEntries(task, entries);
  }
  reader.close();
}

/** Processes entries that a dead dispatcher has read and not removed. */
async function reclaimEntries(task: StreamTask, signal: AbortSignal): Promise<void> {
  const { streams, stream } = task;
  while (!signal.aborted) {
    await pause(RECLAIM_INTERVAL_MS, signal);
    const count = signal.aborted || task.hold.isHeld() ? 0 : task.freeSlots();
    if (count === 0) continue;
    const input = { idle: RECLAIM_IDLE_MS, count };
    await dispatchEntries(task, await streams.reclaim(stream.key, input).catch(() => []));
  }
}

/** Removes the entries from the stream once their rows are claimed, parked or need no work. */
async function dispatchEntries(task: StreamTask, entries: readonly Entry[]): Promise<void> {
  const { streams, stream, idPrefix } = task;
  const valid = entries.filter(({ clientId, id }) => isClientId(clientId) && isPrefixedId(id, idPrefix));
  if (!(await task.dispatch(valid))) return requeue(task, valid);
  // Entries that Redis does not remove are reclaimed later, when their rows need no work.
  await streams.remove(stream.key, entries).catch(() => {});
}

/** Adds entries without a claim to the stream again, so that other dispatchers read them immediately. */
async function requeue(
  { streams, stream: { lane, key } }: StreamTask,
  entries: readonly Entry[],
): Promise<void> {
  if (entries.length === 0) return;
  const move = async () => {
    await streams.add(lane, entries);
    await streams.remove(key, entries);
  };
  await move().catch(() => {});
}
