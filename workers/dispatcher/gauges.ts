import type { Breakers } from "../../src/queue/breakers.ts";
import {
  type QueueParts,
  type QueueStatus,
  queueStatus,
  WAIT_REASONS,
} from "../../src/queue/queue-status.ts";
import type { Metrics } from "../../src/runtime/metrics.ts";
import { CHANNEL_STATUSES, PLATFORMS } from "../../src/schema/enumerations.ts";
import { type ChannelCount, countChannels } from "../../src/store/channels/channel-owners.ts";
import type { ConcurrencyLimiter } from "./concurrency-limiter.ts";

interface GaugeParts extends QueueParts {
  breakers: Breakers;
  limiters: Record<"events" | "messages", Pick<ConcurrencyLimiter<string>, "used">>;
  metrics: Metrics;
}

/** With many waiting rows a measurement takes long; the next one waits this many times as long. */
const PAUSE_FACTOR = 20;

/** Returns a function that sets the gauges. Each dispatcher reports the whole queue and all channels, but only its own slots. */
export function createGauges({ metrics, limiters, breakers, ...parts }: GaugeParts): () => Promise<void> {
  let nextMeasureAt = 0;
  return async () => {
    metrics.slotsUsed.set({ pool: "events" }, limiters.events.used());
    metrics.slotsUsed.set({ pool: "messages" }, limiters.messages.used());
    for (const [state, count] of Object.entries(breakers.counts())) metrics.breakers.set({ state }, count);
    const began = performance.now();
    if (began < nextMeasureAt) return;
    resetGauges(metrics);
    setQueueGauges(metrics, await queueStatus(parts));
    setChannelGauges(metrics, await countChannels(parts.db));
    nextMeasureAt = performance.now() + PAUSE_FACTOR * (performance.now() - began);
  };
}

/** Called before the queries: when they fail, values from before the outage must not look current. */
function resetGauges(metrics: Metrics): void {
  const gauges = [
    metrics.queueDepth,
    metrics.queueOldest,
    metrics.queueInFlight,
    metrics.queueWaiting,
    metrics.queueOldestAccepted,
    metrics.queueFailed,
    metrics.channels,
  ];
  for (const gauge of gauges) gauge.reset();
}

function setQueueGauges(metrics: Metrics, { held, data }: QueueStatus): void {
  metrics.queueHeld.set(held ? 1 : 0);
  for (const { stream, depth, ...figures } of data) {
    if (depth !== null) metrics.queueDepth.set({ stream }, depth);
    metrics.queueOldest.set({ stream }, figures.oldest_due_seconds);
    metrics.queueInFlight.set({ stream }, figures.in_flight);
    for (const reason of WAIT_REASONS) metrics.queueWaiting.set({ stream, reason }, figures.waiting[reason]);
    metrics.queueOldestAccepted.set({ stream }, figures.oldest_accepted_seconds);
    metrics.queueFailed.set({ stream }, figures.failed_24h);
  }
}

function setChannelGauges(metrics: Metrics, counts: readonly ChannelCount[]): void {
  for (const platform of PLATFORMS)
    for (const status of CHANNEL_STATUSES) metrics.channels.set({ platform, status }, 0);
  for (const { platform, status, count } of counts) metrics.channels.set({ platform, status }, count);
}
