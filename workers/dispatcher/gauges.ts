import type { Breakers } from "../../src/queue/breakers.ts";
import { type QueueParts, queueStatus } from "../../src/queue/queue-status.ts";
import type { Metrics } from "../../src/runtime/metrics/metrics.ts";
import type { ConcurrencyLimiter } from "./concurrency-limiter.ts";

interface GaugeParts extends QueueParts {
  breakers: Breakers;
  limiters: Record<"events" | "messages", Pick<ConcurrencyLimiter<string>, "used">>;
  metrics: Metrics;
}

/** Sets the gauges. Each dispatcher reports the whole queue, but only its own slots. */
export async function setGauges({ metrics, limiters, breakers, ...parts }: GaugeParts): Promise<void> {
  metrics.slotsUsed.set({ pool: "events" }, limiters.events.used());
  metrics.slotsUsed.set({ pool: "messages" }, limiters.messages.used());
  for (const [state, count] of Object.entries(breakers.counts())) metrics.breakers.set({ state }, count);
  // Reset before the queries: when they fail, values from before the outage must not look current.
  for (const gauge of [metrics.queueDepth, metrics.queueOldest, metrics.queueInFlight]) gauge.reset();
  for (const { stream, depth, oldest_due_seconds, in_flight } of await queueStatus(parts)) {
    if (depth !== null) metrics.queueDepth.set({ stream }, depth);
    metrics.queueOldest.set({ stream }, oldest_due_seconds);
    metrics.queueInFlight.set({ stream }, in_flight);
  }
}
