import type { Lane, QueueRef, Streams } from "../../src/queue/streams.ts";
import { pause } from "../../src/runtime/async/pause.ts";
import { WORKER_DEAD_AFTER_MS } from "../../src/runtime/deadlines.ts";
import type { Log } from "../../src/runtime/logging/log.ts";
import type { Database, Queryable } from "../../src/store/database/database.ts";
import { lockSweep, type SweptQueue } from "../../src/store/processes/sweep-lock.ts";

/**
 * A sweep guarantees what the streams do not: it makes the rows of dead workers due again, fails rows that waited too long,
 * and queues due rows that are in no stream, which also makes it the timer of retries. One process sweeps a queue at a time.
 * `sweepQueue` repeats `sweepOnce` while a batch is full and Redis accepts it, at most MAX_BATCHES times. A row is marked as
 * queued in the transaction and added to its stream after the commit; when Redis rejects it, `unmark` reverts the mark.
 * While the queue is held, the sweep queues nothing.
 */

export const MAX_BATCH_ROWS = 500;
/** The sweep adds nothing to a stream with this many entries. */
export const MAX_STREAM_DEPTH = 2_000;

/** Gives the dispatchers time to read entries between two batches. */
const BATCH_PAUSE_MS = 100;
/** A longer sweep would delay the shutdown. */
const MAX_BATCHES = 5;

export interface SweepParts {
  db: Database;
  streams: Streams;
  log: Log;
  /** Milliseconds for which this worker's heartbeats have had no gap. */
  aliveForMs(): number;
}

/** Logs, metrics and notifications wait for the commit: the transaction may be repeated after a deadlock. */
type AfterCommit = () => void;

interface Recovery {
  /** Numbers of recovered rows, by their new state. */
  counts: Readonly<Record<string, number>>;
  afterCommit?: AfterCommit;
}

interface EnqueuedBatch<R> {
  lane: Lane;
  refs: readonly R[];
}

/** The parts that differ between the queues. `recover`, `settle` and `enqueue` run in one transaction. */
export interface QueueSweep<C, R extends QueueRef> {
  queue: SweptQueue;
  /** Returns the capacity of the streams; undefined when they are full. Throws while Redis is unavailable. */
  readCapacity(): Promise<C | undefined>;
  /** Makes rows whose lease has expired due again. */
  recover(tx: Queryable): Promise<Recovery>;
  /** Fails rows that waited too long. */
  settle?(tx: Queryable): Promise<AfterCommit>;
  /** Marks due rows as queued and returns them. */
  enqueue(tx: Queryable, capacity: C): Promise<readonly EnqueuedBatch<R>[]>;
  /** Marks rows as not queued, because Redis did not accept them. */
  unmark(refs: readonly R[]): Promise<void>;
  logFields?: Readonly<Record<string, string>>;
}

export async function sweepQueue<C, R extends QueueRef>(
  parts: SweepParts,
  sweep: QueueSweep<C, R>,
): Promise<void> {
  for (let batches = 1; (await sweepOnce(parts, sweep)) === "more" && batches < MAX_BATCHES; batches++)
    await pause(BATCH_PAUSE_MS);
}

async function sweepOnce<C, R extends QueueRef>(
  parts: SweepParts,
  sweep: QueueSweep<C, R>,
): Promise<"more" | "done"> {
  const capacity = await sweep.readCapacity().catch(() => undefined);
  const { recovery, settled, batches } = await parts.db.transaction(async (tx) => {
    const { isLocked, isHeld } = await lockSweep(tx, sweep.queue);
    if (!isLocked) return { batches: [] };
    const recovery = canJudgeOthers(parts) ? await sweep.recover(tx) : undefined;
    const settled = await sweep.settle?.(tx);
    const batches = capacity === undefined || isHeld ? [] : await sweep.enqueue(tx, capacity);
    return { recovery, settled, batches };
  });
  if (recovery) recordRecovery(parts, sweep, recovery);
  settled?.();
  const results = await Promise.all(batches.map((batch) => addToStream(parts, sweep, batch)));
  // Rows that Redis did not accept are due again, but not in this sweep.
  const isFull = batches.some(({ refs }) => refs.length >= MAX_BATCH_ROWS);
  return isFull && results.every(Boolean) ? "more" : "done";
}

/** After a database outage every worker looks dead: one with a gap itself first waits for the others' heartbeats. */
const canJudgeOthers = ({ aliveForMs }: SweepParts): boolean => aliveForMs() >= WORKER_DEAD_AFTER_MS;

function recordRecovery<C, R extends QueueRef>(
  { log }: SweepParts,
  { logFields }: QueueSweep<C, R>,
  { counts, afterCommit }: Recovery,
): void {
  afterCommit?.();
  if (Object.values(counts).some((count) => count > 0))
    log.warn("sweep.reclaimed", { ...logFields, ...counts });
}

/** True when Redis accepted the batch. */
async function addToStream<C, R extends QueueRef>(
  { streams, log }: SweepParts,
  sweep: QueueSweep<C, R>,
  { lane, refs }: EnqueuedBatch<R>,
): Promise<boolean> {
  if (refs.length === 0) return true;
  try {
    await streams.add(lane, refs);
    return true;
  } catch (error) {
    log.warn("sweep.enqueue_failed", { lane, count: refs.length, err: error });
    await sweep.unmark(refs);
    return false;
  }
}
