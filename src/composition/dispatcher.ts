import type { DependencyContainer } from "tsyringe";
import { createBatchWriter } from "../../workers/dispatcher/batch-writer.ts";
import { createConcurrencyLimiter } from "../../workers/dispatcher/concurrency-limiter.ts";
import { checkPeers } from "../../workers/dispatcher/delivering/check-peers.ts";
import { deliverEvent } from "../../workers/dispatcher/delivering/deliver-event.ts";
import { createInFlightDeliveries } from "../../workers/dispatcher/delivering/in-flight.ts";
import { withLeadFields } from "../../workers/dispatcher/delivering/lead-fields.ts";
import { withoutRemoteText } from "../../workers/dispatcher/delivering/outcomes.ts";
import { createAttemptRecorder } from "../../workers/dispatcher/delivering/record.ts";
import { sweepDeliveries } from "../../workers/dispatcher/delivering/sweeper.ts";
import { setGauges } from "../../workers/dispatcher/gauges.ts";
import { DELIVERY_LANES } from "../../workers/dispatcher/lanes.ts";
import { dispatcher } from "../../workers/dispatcher/stream-consumer.ts";
import { heartbeat } from "../../workers/heartbeat.ts";
import { createBreakers } from "../queue/breakers.ts";
import { createParking } from "../queue/parking.ts";
import { createQueueNotifier } from "../queue/queue-notifier.ts";
import { createReaderClient } from "../queue/redis.ts";
import { createStreams, type Entry, EVENT_LANES } from "../queue/streams.ts";
import { repeat } from "../runtime/async/repeat.ts";
import { SECOND } from "../runtime/durations.ts";
import { newId } from "../runtime/ids.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { ClaimedDelivery } from "../store/events/claim-deliveries.ts";
import { finishDeliveries } from "../store/events/finish-deliveries.ts";
import { unmarkQueued } from "../store/events/sweep-deliveries.ts";
import type { SendRef } from "../store/messages/claim-sends.ts";
import { registerEventPoster } from "./event-poster.ts";
import { createMessageSending } from "./message-sending.ts";
import { platformConnections, registerPlatforms } from "./platforms.ts";
import { sharedWorkers } from "./shared.ts";
import {
  CONFIG,
  DATABASE,
  EVENT_POSTER,
  LOG,
  METRICS,
  PARTITIONS,
  PLATFORMS,
  provide,
  REDIS,
  resolve,
  SECRET_BOX,
  WORKERS,
} from "./tokens.ts";

export function registerDispatcher(container: DependencyContainer): void {
  registerEventPoster(container);
  registerPlatforms(container);
  provide(container, WORKERS, (c) => [...sharedWorkers(c), ...dispatcherWorkers(c)]);
}

function dispatcherWorkers(c: DependencyContainer): Worker[] {
  const [config, db, redis] = [resolve(c, CONFIG), resolve(c, DATABASE), resolve(c, REDIS)];
  const [log, metrics, partitions] = [resolve(c, LOG), resolve(c, METRICS), resolve(c, PARTITIONS)];
  const [secretBox, poster] = [resolve(c, SECRET_BOX), resolve(c, EVENT_POSTER)];
  const worker = newId("wrk");
  const heartbeatWorker = heartbeat({ id: worker, process: "dispatcher", db, log });
  const { aliveForMs } = heartbeatWorker;
  const streams = createStreams(redis, partitions);
  const notifier = createQueueNotifier({
    redis,
    streams,
    lane: "events",
    unmarkQueued: (refs) => unmarkQueued(db, refs),
    log,
  });
  const outbound = createMessageSending(c, { worker, aliveForMs, streams, notifier });
  const [parking, breakers] = [createParking(redis, partitions), createBreakers(redis, partitions, { log })];
  const { pages } = resolve(c, PLATFORMS).social;
  const completePayload = (row: ClaimedDelivery) => withLeadFields({ db, secretBox, pages, log }, row);
  const limiter = createConcurrencyLimiter({
    slots: config.DISPATCHER_CONCURRENCY,
    lanes: DELIVERY_LANES,
    isUnhealthy: breakers.isUnhealthy,
    isHalfOpen: (clientId) => breakers.stateOfClient(clientId).state === "half_open",
  });
  const deliveries = createInFlightDeliveries({
    worker,
    db,
    log,
    isAlive: () => aliveForMs() > 0,
    limiter,
    parking,
    batchWriter: createBatchWriter({
      what: "delivery",
      write: (finishes) => finishDeliveries(db, finishes),
      withoutRemoteText,
      log,
    }),
    deliver: (row, signal) => deliverEvent({ secretBox, poster, breakers, completePayload }, row, signal),
    record: createAttemptRecorder(log, metrics),
  });
  const backgroundWorkers = [
    repeat({
      name: "sweeper",
      intervalMs: 1 * SECOND,
      work: () => sweepDeliveries({ db, streams, parking, log, aliveForMs }),
      log,
    }),
    repeat({
      name: "peer_check",
      intervalMs: 1 * SECOND,
      work: () => checkPeers({ streams, parking, breakers, limiter, deliveries }),
      log,
    }),
  ];
  metrics.addCollector(() =>
    setGauges({
      db,
      redis,
      partitions,
      breakers,
      limiters: { events: limiter, messages: outbound.limiter },
      metrics,
    }),
  );
  return [
    platformConnections(c),
    { name: "event-poster", close: () => poster.close() },
    heartbeatWorker,
    notifier,
    dispatcher({
      streams,
      lanes: [
        ...EVENT_LANES.map((lane) => ({
          lane,
          idPrefix: "evt" as const,
          waitForFreeSlots: () => limiter.waitForFreeSlots(lane),
          freeSlots: () => limiter.freeSlotsIn(lane),
          dispatch: (entries: readonly Entry[]) => deliveries.dispatch(lane, entries),
        })),
        {
          lane: "outbound",
          idPrefix: "msg",
          waitForFreeSlots: outbound.sends.waitForFreeSlots,
          freeSlots: outbound.sends.freeSlots,
          dispatch: (entries) => outbound.sends.dispatch(entries.filter(isSend)),
        },
      ],
      inFlight: [deliveries, outbound.sends],
      backgroundWorkers: [...backgroundWorkers, outbound.sweeper],
      log,
      connect: () => createReaderClient(config),
    }),
  ];
}

/** Of a message its entry says whose channel says it. */
const isSend = (entry: Entry): entry is Entry & SendRef => entry.channelId !== undefined;
