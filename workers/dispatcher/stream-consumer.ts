import { setMaxListeners } from "node:events";
import type { RedisClient } from "../../src/queue/redis.ts";
import { createStreamReader, isMissingGroup } from "../../src/queue/stream-reader.ts";
import type { Entry, Lane, Stream, Streams } from "../../src/queue/streams.ts";
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

/** Takes up what the streams of one lane name. */
export interface LaneParts {
  lane: Lane;
  /** How much may be read: waits until there is room, or tells how much there is now. */
  waitForFreeSlots(): Promise<number>;
  freeSlots(): number;
  /** What the ids of its rows begin with. */
  idPrefix: IdPrefix;
  /** False where it was given up, because the process ends: they are still in nobody's hand. */
  dispatch(entries: readonly Entry[]): Promise<boolean>;
}

/** Who has something in hand. */
export interface InFlight {
  /** How much. */
  count(): number;
  /** From now on nothing is taken up. */
  stop(): void;
  /** When everything in hand has come to its end. */
  drain(): Promise<void>;
  /** Gives up what is still out, where that does no harm. */
  abort(): void;
  /** Gives up writing down how it ended: the others will find it in the hands of a dead one. */
  abandonWrites(): void;
}

interface DispatcherParts {
  streams: Streams;
  lanes: readonly LaneParts[];
  inFlight: readonly InFlight[];
  connect(): RedisClient;
  /** What is done beside it, and ends with it: nothing of it begins any more once the process is to end. */
  backgroundWorkers: readonly Worker[];
  log: Log;
}

const RECLAIM_INTERVAL_MS = 5 * SECOND;
/** What is done beside may hang in a query, and holds nothing. */
const BACKGROUND_CLOSE_TIMEOUT_MS = 2 * SECOND;

/** Reads the streams and hands over what is named there; ends with nothing left in hand. */
export function dispatcher(parts: DispatcherParts): Worker {
  const { streams, lanes, inFlight, backgroundWorkers, log } = parts;
  const callEach = (method: "stop" | "abort" | "abandonWrites") => () => {
    for (const group of inFlight) group[method]();
  };
  const countInFlight = () => inFlight.reduce((sum, group) => sum + group.count(), 0);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // two for each stream, which Node would take for a leak
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

/** One stream, and who takes up what it names. */
type StreamTask = DispatcherParts & LaneParts & { stream: Stream };

/** Never reads more than can be begun: what is read and waits looks abandoned after a while. */
async function consumeStream(task: StreamTask, signal: AbortSignal): Promise<void> {
  const { streams, stream, log, connect } = task;
  const reader = createStreamReader(stream.key, connect);
  const readNext = async (): Promise<Entry[]> => {
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

/** Whoever has read something and died leaves it to the others. */
async function reclaimEntries(task: StreamTask, signal: AbortSignal): Promise<void> {
  const { streams, stream } = task;
  while (!signal.aborted) {
    await pause(RECLAIM_INTERVAL_MS, signal);
    const count = signal.aborted ? 0 : task.freeSlots();
    if (count === 0) continue;
    const input = { idle: RECLAIM_IDLE_MS, count };
    await dispatchEntries(task, await streams.reclaim(stream.key, input).catch(() => []));
  }
}

/** Once they are in somebody's hand, or set aside, or nobody's business, the stream is done with them. */
async function dispatchEntries(task: StreamTask, entries: readonly Entry[]): Promise<void> {
  const { streams, stream, idPrefix } = task;
  const valid = entries.filter(({ clientId, id }) => isClientId(clientId) && isPrefixedId(id, idPrefix));
  if (!(await task.dispatch(valid))) return requeue(task, valid);
  // What stays because Redis is away is adopted later, and found to be done.
  await streams.remove(stream.key, entries).catch(() => {});
}

/** Read and not begun: given to the others at once. */
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
