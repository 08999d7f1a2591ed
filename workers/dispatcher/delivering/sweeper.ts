import { RETRY_DELAYS_MS } from "../../../src/delivery/retry-schedule.ts";
import type { Parking } from "../../../src/queue/parking.ts";
import { EVENT_LANES, type EventLane, type Streams } from "../../../src/queue/streams.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { Database, Queryable } from "../../../src/store/database/database.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import {
  enqueueDue,
  lockSweep,
  recoverDeliveries,
  unmarkQueued,
} from "../../../src/store/events/sweep-deliveries.ts";
import {
  LEASE_LIMITS,
  MAX_BATCH_ROWS,
  MAX_STREAM_DEPTH,
  STRANDED_AFTER_MS,
  sweepBatches,
} from "../sweep-loop.ts";

export interface SweepParts {
  db: Database;
  streams: Streams;
  parking: Pick<Parking, "saturatedClients">;
  log: Log;
  /** For how many milliseconds this process's own heart has beaten without a gap. */
  aliveForMs(): number;
}

interface QueueState {
  epoch: string;
  /** In the order of the streams. */
  depths: number[];
  /** Clients of whom enough is set aside: more of theirs would only be in the way of the others. */
  saturatedClients: Record<EventLane, string[]>;
}

/**
 * Gives to the queue whatever is due and not in it, for whatever reason, and takes from the dead what they had in hand. It is
 * the timer of the retries too. Whoever else sweeps at the same moment lets us do it.
 */
export const sweep = (parts: SweepParts): Promise<void> => sweepBatches(() => sweepOnce(parts));

async function sweepOnce(parts: SweepParts): Promise<"more" | "done"> {
  const { db, streams } = parts;
  const state = await readQueueState(parts);
  const enqueued = await db.transaction(async (tx) => {
    if (!(await lockSweep(tx))) return [];
    await recover(tx, parts);
    return state ? enqueue(tx, streams, state) : [];
  });
  const results = await Promise.all(enqueued.map(([lane, refs]) => addToStream(parts, lane, refs)));
  // What Redis did not take is due again, but not at once.
  return results.every(Boolean) && enqueued.some(([, refs]) => refs.length === MAX_BATCH_ROWS)
    ? "more"
    : "done";
}

/** Whether Redis has taken them. */
async function addToStream(
  { db, streams, log }: SweepParts,
  lane: EventLane,
  refs: readonly DeliveryRef[],
): Promise<boolean> {
  if (refs.length === 0) return true;
  try {
    await streams.add(lane, refs);
    return true;
  } catch (error) {
    log.warn("sweep.enqueue_failed", { lane, count: refs.length, err: error });
    await unmarkQueued(db, refs);
    return false;
  }
}

/** Undefined while Redis is away. */
async function readQueueState({ streams, parking }: SweepParts): Promise<QueueState | undefined> {
  try {
    const [epoch, depths, events, bulk] = await Promise.all([
      streams.epoch(),
      Promise.all(streams.eventStreams.map(({ key }) => streams.depth(key))),
      parking.saturatedClients("events"),
      parking.saturatedClients("bulk"),
    ]);
    return { epoch, depths, saturatedClients: { events, bulk } };
  } catch {
    return undefined;
  }
}

/** After an outage everybody seems dead: who was silent themselves cannot tell, and waits until the others have spoken. */
async function recover(tx: Queryable, { aliveForMs, log }: SweepParts): Promise<void> {
  if (aliveForMs() < LEASE_LIMITS.deadAfter) return;
  const count = await recoverDeliveries(tx, { ...LEASE_LIMITS, schedule: RETRY_DELAYS_MS });
  if (count > 0) log.warn("sweep.reclaimed", { count });
}

async function enqueue(
  tx: Queryable,
  { eventStreams, partitions }: Streams,
  { epoch, depths, saturatedClients }: QueueState,
): Promise<[EventLane, DeliveryRef[]][]> {
  const enqueued: [EventLane, DeliveryRef[]][] = [];
  for (const lane of EVENT_LANES) {
    const fullPartitions = eventStreams.flatMap((stream, index) =>
      stream.lane === lane && (depths[index] ?? 0) >= MAX_STREAM_DEPTH ? [stream.partition] : [],
    );
    if (fullPartitions.length === partitions) continue;
    const input = { isBulk: lane === "bulk", epoch, strandedAfter: STRANDED_AFTER_MS, limit: MAX_BATCH_ROWS };
    enqueued.push([
      lane,
      await enqueueDue(tx, {
        ...input,
        partitions,
        fullPartitions,
        saturatedClients: saturatedClients[lane],
      }),
    ]);
  }
  return enqueued;
}
