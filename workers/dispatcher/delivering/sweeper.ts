import type { Parking } from "../../../src/queue/parking.ts";
import { EVENT_LANES, type EventLane, type Streams } from "../../../src/queue/streams.ts";
import { STRANDED_AFTER_MS } from "../../../src/runtime/deadlines.ts";
import type { Queryable } from "../../../src/store/database/database.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import {
  enqueueDue,
  type QuarantinedDelivery,
  recoverDeliveries,
  unmarkQueued,
} from "../../../src/store/events/sweep-deliveries.ts";
import { LEASE_LIMITS } from "../../../src/store/processes/workers.ts";
import {
  MAX_BATCH_ROWS,
  MAX_STREAM_DEPTH,
  type QueueSweep,
  type SweepParts,
  sweepQueue,
} from "../sweep-loop.ts";

export interface DeliverySweepParts extends SweepParts {
  parking: Pick<Parking, "saturatedClients">;
  /** Called for each delivery that failed because its dispatchers died. */
  onQuarantined(delivery: QuarantinedDelivery): void;
}

interface Capacity {
  epoch: string;
  fullPartitions: Record<EventLane, number[]>;
  /** Clients with so many parked deliveries that queueing more would not start them sooner. */
  saturatedClients: Record<EventLane, string[]>;
}

export const sweepDeliveries = (parts: DeliverySweepParts): Promise<void> =>
  sweepQueue(parts, deliverySweep(parts));

const deliverySweep = (parts: DeliverySweepParts): QueueSweep<Capacity, DeliveryRef> => ({
  queue: "deliveries",
  readCapacity: () => readCapacity(parts),
  recover: (tx) => recover(tx, parts),
  enqueue: (tx, capacity) => enqueue(tx, parts.streams, capacity),
  unmark: (refs) => unmarkQueued(parts.db, refs),
});

async function recover(tx: Queryable, { onQuarantined }: DeliverySweepParts) {
  const { released, quarantined } = await recoverDeliveries(tx, LEASE_LIMITS);
  return {
    counts: { released, quarantined: quarantined.length },
    afterCommit: () => quarantined.forEach(onQuarantined),
  };
}

async function readCapacity({ streams, parking }: DeliverySweepParts): Promise<Capacity> {
  const [epoch, depths, events, bulk] = await Promise.all([
    streams.epoch(),
    Promise.all(streams.eventStreams.map(({ key }) => streams.depth(key))),
    parking.saturatedClients("events"),
    parking.saturatedClients("bulk"),
  ]);
  const fullIn = (lane: EventLane) =>
    streams.eventStreams.flatMap((stream, index) =>
      stream.lane === lane && (depths[index] ?? 0) >= MAX_STREAM_DEPTH ? [stream.partition] : [],
    );
  const fullPartitions = { events: fullIn("events"), bulk: fullIn("bulk") };
  return { epoch, fullPartitions, saturatedClients: { events, bulk } };
}

async function enqueue(
  tx: Queryable,
  { partitions }: Streams,
  { epoch, fullPartitions, saturatedClients }: Capacity,
): Promise<{ lane: EventLane; refs: DeliveryRef[] }[]> {
  const batches: { lane: EventLane; refs: DeliveryRef[] }[] = [];
  for (const lane of EVENT_LANES) {
    if (fullPartitions[lane].length === partitions) continue;
    const refs = await enqueueDue(tx, {
      isBulk: lane === "bulk",
      epoch,
      strandedAfter: STRANDED_AFTER_MS,
      limit: MAX_BATCH_ROWS,
      partitions,
      fullPartitions: fullPartitions[lane],
      saturatedClients: saturatedClients[lane],
    });
    batches.push({ lane, refs });
  }
  return batches;
}
