import { SCHEDULE } from "../../../src/delivery/retry-schedule.ts";
import type { Parking } from "../../../src/queue/parking.ts";
import { EVENT_LANES, type EventLane, type Streams } from "../../../src/queue/streams.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { Database, Queryable } from "../../../src/store/database/database.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import {
  enqueueDue,
  lockSweep,
  recoverDeliveries,
  unqueue,
} from "../../../src/store/events/sweep-deliveries.ts";
import { BATCH, FULL, SILENCE, STRANDED_AFTER, sweepOn } from "../sweep-loop.ts";

export interface SweepParts {
  db: Database;
  streams: Streams;
  parking: Pick<Parking, "crowded">;
  log: Log;
  /** For how many milliseconds this process's own heart has beaten without a gap. */
  steadyFor(): number;
}

interface QueueState {
  epoch: string;
  /** In the order of the streams. */
  depths: number[];
  /** Clients of whom enough is set aside: more of theirs would only be in the way of the others. */
  crowded: Record<EventLane, string[]>;
}

/**
 * Gives to the queue whatever is due and not in it, for whatever reason, and takes from the dead what they had in hand. It is
 * the timer of the retries too. Whoever else sweeps at the same moment lets us do it.
 */
export const sweep = (parts: SweepParts): Promise<void> => sweepOn(() => sweepOnce(parts));

async function sweepOnce(parts: SweepParts): Promise<"more" | "done"> {
  const { db, streams } = parts;
  const state = await stateOf(parts);
  const taken = await db.transaction(async (tx) => {
    if (!(await lockSweep(tx))) return [];
    await recover(tx, parts);
    return state ? enqueue(tx, streams, state) : [];
  });
  const told = await Promise.all(taken.map(([lane, refs]) => tell(parts, lane, refs)));
  // What Redis did not take is due again, but not at once.
  return told.every(Boolean) && taken.some(([, refs]) => refs.length === BATCH) ? "more" : "done";
}

/** Whether Redis has taken them. */
async function tell(
  { db, streams, log }: SweepParts,
  lane: EventLane,
  refs: readonly DeliveryRef[],
): Promise<boolean> {
  if (refs.length === 0) return true;
  try {
    await streams.add(lane, refs);
    return true;
  } catch (error) {
    log.warn("sweep.not_queued", { lane, count: refs.length, err: error });
    await unqueue(db, refs);
    return false;
  }
}

/** Undefined while Redis is away. */
async function stateOf({ streams, parking }: SweepParts): Promise<QueueState | undefined> {
  try {
    const [epoch, depths, events, bulk] = await Promise.all([
      streams.epoch(),
      Promise.all(streams.ofEvents.map(({ key }) => streams.depth(key))),
      parking.crowded("events"),
      parking.crowded("bulk"),
    ]);
    return { epoch, depths, crowded: { events, bulk } };
  } catch {
    return undefined;
  }
}

/** After an outage everybody seems dead: who was silent themselves cannot tell, and waits until the others have spoken. */
async function recover(tx: Queryable, { steadyFor, log }: SweepParts): Promise<void> {
  if (steadyFor() < SILENCE.deadAfter) return;
  const count = await recoverDeliveries(tx, { ...SILENCE, schedule: SCHEDULE });
  if (count > 0) log.warn("sweep.recovered", { count });
}

async function enqueue(
  tx: Queryable,
  { ofEvents, partitions }: Streams,
  { epoch, depths, crowded }: QueueState,
): Promise<[EventLane, DeliveryRef[]][]> {
  const taken: [EventLane, DeliveryRef[]][] = [];
  for (const lane of EVENT_LANES) {
    const full = ofEvents.flatMap((stream, index) =>
      stream.lane === lane && (depths[index] ?? 0) >= FULL ? [stream.partition] : [],
    );
    if (full.length === partitions) continue;
    const wish = { isBulk: lane === "bulk", epoch, strandedAfter: STRANDED_AFTER, limit: BATCH };
    taken.push([lane, await enqueueDue(tx, { ...wish, partitions, full, crowded: crowded[lane] })]);
  }
  return taken;
}
