import type { DependencyContainer } from "tsyringe";
import { deliverEvent } from "../../workers/dispatcher/deliver-event.ts";
import { createDeliveries } from "../../workers/dispatcher/deliveries.ts";
import { dispatcher } from "../../workers/dispatcher/dispatcher.ts";
import { bare } from "../../workers/dispatcher/endings.ts";
import { createFinisher } from "../../workers/dispatcher/finisher.ts";
import { createGate } from "../../workers/dispatcher/gate.ts";
import { setGauges } from "../../workers/dispatcher/gauges.ts";
import { withLeadFields } from "../../workers/dispatcher/lead-fields.ts";
import { lookAround } from "../../workers/dispatcher/lookout.ts";
import { createReport } from "../../workers/dispatcher/report.ts";
import { sweep } from "../../workers/dispatcher/sweeper.ts";
import { heartbeat } from "../../workers/heartbeat.ts";
import { createBreakers } from "../dispatch/queue/breakers.ts";
import { createDoorbell } from "../dispatch/queue/doorbell.ts";
import { createParking } from "../dispatch/queue/parking.ts";
import { createStreams, type Entry, EVENT_LANES } from "../dispatch/queue/streams.ts";
import { connectReader } from "../dispatch/redis.ts";
import { SECOND } from "../runtime/durations.ts";
import { newId } from "../runtime/ids.ts";
import { repeat } from "../runtime/repeat.ts";
import type { Worker } from "../runtime/supervise.ts";
import { type ClaimedRow, finishDeliveries } from "../store/claims.ts";
import type { SendRef } from "../store/sends.ts";
import { unqueue } from "../store/sweeps.ts";
import { platformConnections, registerPlatforms } from "./outside.ts";
import { registerPosting } from "./posting.ts";
import { sending } from "./sending.ts";
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
  const doorbell = createDoorbell({
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
