import type { DependencyContainer } from "tsyringe";
import { createGauges } from "../../workers/dispatcher/gauges.ts";
import { dispatcher } from "../../workers/dispatcher/lifecycle.ts";
import { heartbeat } from "../../workers/heartbeat.ts";
import { createQueueHold } from "../queue/queue-hold.ts";
import { newId } from "../runtime/ids.ts";
import type { Worker } from "../runtime/supervise.ts";
import { createEventDelivery } from "./event-delivery.ts";
import { eventPosterConnections, registerEventPoster } from "./event-poster.ts";
import { createMessageSending } from "./message-sending.ts";
import { platformConnections, registerPlatforms } from "./platforms.ts";
import { sharedWorkers } from "./shared.ts";
import { DATABASE, EVENT_NOTIFIER, LOG, METRICS, provide, REDIS, resolve, TAGS, WORKERS } from "./tokens.ts";

export function registerDispatcher(container: DependencyContainer): void {
  registerEventPoster(container);
  registerPlatforms(container);
  provide(container, WORKERS, (c) => [...sharedWorkers(c), ...dispatcherWorkers(c)]);
}

function dispatcherWorkers(c: DependencyContainer): Worker[] {
  const [db, log, metrics] = [resolve(c, DATABASE), resolve(c, LOG), resolve(c, METRICS)];
  const worker = newId("wrk");
  const heartbeatWorker = heartbeat({ id: worker, process: "dispatcher", db, log });
  const { aliveForMs, aliveCount } = heartbeatWorker;
  const hold = createQueueHold({ db, log });
  const events = createEventDelivery(c, { worker, aliveForMs, hold });
  const messages = createMessageSending(c, { worker, aliveForMs, aliveCount, hold });
  metrics.addCollector(
    createGauges({
      db,
      redis: resolve(c, REDIS),
      tags: resolve(c, TAGS),
      breakers: events.breakers,
      limiters: { events: events.limiter, messages: messages.limiter },
      metrics,
    }),
  );
  return [
    platformConnections(c),
    eventPosterConnections(c),
    heartbeatWorker,
    resolve(c, EVENT_NOTIFIER),
    dispatcher({
      inFlight: [events.deliveries, messages.sends],
      backgroundWorkers: [hold, ...events.backgroundWorkers, ...messages.backgroundWorkers],
      log,
    }),
  ];
}
