import type { DependencyContainer } from "tsyringe";
import { createGauges } from "../../workers/dispatcher/gauges.ts";
import { dispatcher } from "../../workers/dispatcher/stream-consumer.ts";
import { heartbeat } from "../../workers/heartbeat.ts";
import { createQueueHold } from "../queue/queue-hold.ts";
import { createReaderClient } from "../queue/redis.ts";
import { createStreams } from "../queue/streams.ts";
import { tagsOf } from "../queue/wake-ups.ts";
import { newId } from "../runtime/ids.ts";
import type { Worker } from "../runtime/supervise.ts";
import { createEventDelivery } from "./event-delivery.ts";
import { eventPosterConnections, registerEventPoster } from "./event-poster.ts";
import { createMessageSending } from "./message-sending.ts";
import { platformConnections, registerPlatforms } from "./platforms.ts";
import { registerQueueNotifiers } from "./queue-notifiers.ts";
import { sharedWorkers } from "./shared.ts";
import {
  CONFIG,
  DATABASE,
  EVENT_NOTIFIER,
  LOG,
  METRICS,
  PARTITIONS,
  provide,
  REDIS,
  resolve,
  WORKERS,
} from "./tokens.ts";

export function registerDispatcher(container: DependencyContainer): void {
  registerEventPoster(container);
  registerPlatforms(container);
  registerQueueNotifiers(container);
  provide(container, WORKERS, (c) => [...sharedWorkers(c), ...dispatcherWorkers(c)]);
}

function dispatcherWorkers(c: DependencyContainer): Worker[] {
  const [config, db, log] = [resolve(c, CONFIG), resolve(c, DATABASE), resolve(c, LOG)];
  const [redis, partitions, metrics] = [resolve(c, REDIS), resolve(c, PARTITIONS), resolve(c, METRICS)];
  const notifier = resolve(c, EVENT_NOTIFIER);
  const streams = createStreams(redis, partitions);
  const worker = newId("wrk");
  const heartbeatWorker = heartbeat({ id: worker, process: "dispatcher", db, log });
  const hold = createQueueHold({ db, log });
  const parts = { worker, aliveForMs: heartbeatWorker.aliveForMs, hold };
  const events = createEventDelivery(c, parts);
  const messages = createMessageSending(c, { ...parts, streams, notifier });
  const limiters = { events: events.limiter, messages: messages.limiter };
  metrics.addCollector(
    createGauges({
      db,
      redis,
      partitions,
      tags: tagsOf(config),
      breakers: events.breakers,
      limiters,
      metrics,
    }),
  );
  return [
    platformConnections(c),
    eventPosterConnections(c),
    heartbeatWorker,
    notifier,
    dispatcher({
      streams,
      lanes: [messages.lane],
      inFlight: [events.deliveries, messages.sends],
      backgroundWorkers: [hold, ...events.backgroundWorkers, ...messages.backgroundWorkers],
      hold,
      log,
      connect: () => createReaderClient(config),
    }),
  ];
}
