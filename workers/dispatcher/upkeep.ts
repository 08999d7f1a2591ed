import type { Breakers } from "../../src/dispatch/queue/breakers.ts";
import type { Parking } from "../../src/dispatch/queue/parking.ts";
import { type QueueParts, queueStatus } from "../../src/dispatch/queue/queue-status.ts";
import type { Streams } from "../../src/dispatch/queue/streams.ts";
import type { Metrics } from "../../src/runtime/metrics.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Gate } from "./gate.ts";

interface UpkeepParts {
  streams: Streams;
  parking: Parking;
  breakers: Breakers;
  deliveries: Deliveries;
}

/** What the others have found out, and what they have set aside: who did that may be dead. */
export async function lookAround({ streams, parking, breakers, deliveries }: UpkeepParts): Promise<void> {
  await breakers.look();
  for (const { lane, partition } of streams.all)
    for (const clientId of await parking.clients(lane, partition)) deliveries.unpark(lane, clientId);
}

interface MeasuredParts extends QueueParts {
  breakers: Breakers;
  gate: Gate;
  metrics: Metrics;
}

/** Sets the gauges. Each dispatcher shows the whole queue, but only its own slots. */
export async function measure({ metrics, gate, breakers, ...parts }: MeasuredParts): Promise<void> {
  metrics.slotsUsed.set(gate.used());
  for (const [state, count] of Object.entries(breakers.counts())) metrics.breakers.set({ state }, count);
  for (const { stream, depth, oldest_due_seconds, in_flight } of await queueStatus(parts)) {
    metrics.queueDepth.set({ stream }, depth ?? Number.NaN);
    metrics.queueOldest.set({ stream }, oldest_due_seconds);
    metrics.queueInFlight.set({ stream }, in_flight);
  }
}
