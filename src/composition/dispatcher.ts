import type { DependencyContainer } from "tsyringe";
import { createFinisher } from "../../workers/dispatcher/batch-writer.ts";
import { createGate } from "../../workers/dispatcher/concurrency-limiter.ts";
import { deliverEvent } from "../../workers/dispatcher/delivering/deliver-event.ts";
import { createDeliveries } from "../../workers/dispatcher/delivering/in-flight.ts";
import { withLeadFields } from "../../workers/dispatcher/delivering/lead-fields.ts";
import { bare } from "../../workers/dispatcher/delivering/outcomes.ts";
import { lookAround } from "../../workers/dispatcher/delivering/peer-watch.ts";
import { createReport } from "../../workers/dispatcher/delivering/record.ts";
import { sweep } from "../../workers/dispatcher/delivering/sweeper.ts";
import { setGauges } from "../../workers/dispatcher/gauges.ts";
import { dispatcher } from "../../workers/dispatcher/stream-consumer.ts";
import { heartbeat } from "../../workers/heartbeat.ts";
import { createBreakers } from "../queue/breakers.ts";
import { createParking } from "../queue/parking.ts";
import { createQueueNotifier } from "../queue/queue-notifier.ts";
import { connectReader } from "../queue/redis.ts";
import { createStreams, type Entry, EVENT_LANES } from "../queue/streams.ts";
import { repeat } from "../runtime/async/repeat.ts";
import { SECOND } from "../runtime/durations.ts";
import { newId } from "../runtime/ids.ts";
import type { Worker } from "../runtime/supervise.ts";
import { type ClaimedRow, finishDeliveries } from "../store/events/claim-deliveries.ts";
import { unqueue } from "../store/events/sweep-deliveries.ts";
import type { SendRef } from "../store/messages/claim-sends.ts";
import { registerPosting } from "./event-poster.ts";
import { sending } from "./message-sending.ts";
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
  registerPosting(container);
  registerPlatforms(container);
  provide(container, WORKERS, (c) => [...sharedWorkers(c), ...dispatcherWorkers(c)]);
}

function dispatcherWorkers(c: DependencyContainer): Worker[] {
  const [config, db, redis] = [resolve(c, CONFIG), resolve(c, DATABASE), resolve(c, REDIS)];
  const [log, metrics, partitions] = [resolve(c, LOG), resolve(c, METRICS), resolve(c, PARTITIONS)];
  const [secretBox, poster] = [resolve(c, SECRET_BOX), resolve(c, EVENT_POSTER)];
  const worker = newId("wrk");
  const heart = heartbeat({ id: worker, process: "dispatcher", db, log });
  const { steadyFor } = heart;
  const streams = createStreams(redis, partitions);
  const doorbell = createQueueNotifier({
    redis,
    streams,
    lane: "events",
    unqueue: (refs) => unqueue(db, refs),
    log,
  });
  const outbound = sending(c, { worker, steadyFor, streams, doorbell });
  const [parking, breakers] = [createParking(redis, partitions), createBreakers(redis, partitions, { log })];
  const { pages } = resolve(c, PLATFORMS).social;
  const complete = (row: ClaimedRow) => withLeadFields({ db, secretBox, pages, log }, row);
  const gate = createGate({
    slots: config.DISPATCHER_CONCURRENCY,
    isUnhealthy: breakers.isUnhealthy,
    isOnTrial: (clientId) => breakers.lastStateOf(clientId).state === "half_open",
  });
  const deliveries = createDeliveries({
    worker,
    db,
    log,
    isAlive: () => steadyFor() > 0,
    gate,
    parking,
    finisher: createFinisher({
      what: "delivery",
      write: (finishes) => finishDeliveries(db, finishes),
      bare,
      log,
    }),
    deliver: (row, signal) => deliverEvent({ secretBox, poster, breakers, complete }, row, signal),
    report: createReport(log, metrics),
  });
  const chores = [
    repeat({
      name: "sweeper",
      every: 1 * SECOND,
      work: () => sweep({ db, streams, parking, log, steadyFor }),
      log,
    }),
    repeat({
      name: "lookout",
      every: 1 * SECOND,
      work: () => lookAround({ streams, parking, breakers, gate, deliveries }),
      log,
    }),
  ];
  metrics.onReading(() =>
    setGauges({ db, redis, partitions, breakers, gates: { events: gate, messages: outbound.gate }, metrics }),
  );
  return [
    platformConnections(c),
    { name: "event-poster", close: () => poster.close() },
    heart,
    doorbell,
    dispatcher({
      streams,
      lanes: [
        ...EVENT_LANES.map((lane) => ({
          lane,
          prefix: "evt" as const,
          room: () => gate.room(lane),
          roomNow: () => gate.roomIn(lane),
          take: (entries: readonly Entry[]) => deliveries.take(lane, entries),
        })),
        {
          lane: "outbound",
          prefix: "msg",
          room: outbound.sends.room,
          roomNow: outbound.sends.roomNow,
          take: (entries) => outbound.sends.take(entries.filter(isSend)),
        },
      ],
      crews: [deliveries, outbound.sends],
      chores: [...chores, outbound.sweeper],
      log,
      connect: () => connectReader(config),
    }),
  ];
}

/** Of a message its entry says whose channel says it. */
const isSend = (entry: Entry): entry is Entry & SendRef => entry.channelId !== undefined;
