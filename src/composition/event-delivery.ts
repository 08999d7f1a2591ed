import type { DependencyContainer } from "tsyringe";
import { createBatchWriter } from "../../workers/dispatcher/batch-writer.ts";
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
} from "../../workers/dispatcher/concurrency-limiter.ts";
import { checkPeers } from "../../workers/dispatcher/delivering/check-peers.ts";
import { deliverEvent } from "../../workers/dispatcher/delivering/deliver-event.ts";
import {
  createInFlightDeliveries,
  type InFlightDeliveries,
} from "../../workers/dispatcher/delivering/in-flight.ts";
import { withLeadFields } from "../../workers/dispatcher/delivering/lead-fields.ts";
import { withoutRemoteText } from "../../workers/dispatcher/delivering/outcomes.ts";
import {
  createAttemptRecorder,
  createQuarantineRecorder,
} from "../../workers/dispatcher/delivering/record.ts";
import { sweepDeliveries } from "../../workers/dispatcher/delivering/sweeper.ts";
import { DELIVERY_LANES } from "../../workers/dispatcher/lanes.ts";
import type { LaneParts } from "../../workers/dispatcher/stream-consumer.ts";
import { type Breakers, createBreakers } from "../queue/breakers.ts";
import { createParking, type Parking } from "../queue/parking.ts";
import type { QueueHold } from "../queue/queue-hold.ts";
import { EVENT_LANES, type EventLane, type Streams } from "../queue/streams.ts";
import { repeat } from "../runtime/async/repeat.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Worker } from "../runtime/supervise.ts";
import { withOpenedSecrets } from "../security/opened-secrets.ts";
import type { ClaimedDelivery } from "../store/events/claim-deliveries.ts";
import { finishDeliveries } from "../store/events/finish-deliveries.ts";
import {
  CONFIG,
  DATABASE,
  EVENT_POSTER,
  LOG,
  METRICS,
  PARTITIONS,
  PLATFORMS,
  REDIS,
  resolve,
  SECRET_BOX,
  WATCHDOG,
} from "./tokens.ts";

interface DeliveryParts {
  /** This dispatcher's id in the rows that it claims. */
  worker: string;
  aliveForMs(): number;
  streams: Streams;
  hold: QueueHold;
}

/** Creates the parts that deliver events to the clients' backends: slots, circuit breakers, lanes, sweeper, peer check. */
export function createEventDelivery(c: DependencyContainer, parts: DeliveryParts) {
  const [redis, partitions, log] = [resolve(c, REDIS), resolve(c, PARTITIONS), resolve(c, LOG)];
  const parking = createParking(redis, partitions);
  const breakers = createBreakers(redis, partitions, { log });
  const limiter = createConcurrencyLimiter({
    slots: resolve(c, CONFIG).DISPATCHER_CONCURRENCY,
    lanes: DELIVERY_LANES,
    isUnhealthy: breakers.isUnhealthy,
    isHalfOpen: (clientId) => breakers.stateOfClient(clientId).state === "half_open",
  });
  const fairness = { parking, breakers, limiter };
  const deliveries = createDeliveries(c, parts, fairness);
  return {
    deliveries,
    limiter,
    breakers,
    lanes: lanesOf(deliveries, limiter),
    backgroundWorkers: createBackgroundWorkers(c, parts, { ...fairness, deliveries }),
  };
}

interface Fairness {
  parking: Parking;
  breakers: Breakers;
  limiter: ConcurrencyLimiter<EventLane>;
}

function createDeliveries(
  c: DependencyContainer,
  { worker, aliveForMs, hold }: DeliveryParts,
  { parking, breakers, limiter }: Fairness,
): InFlightDeliveries {
  const [db, log] = [resolve(c, DATABASE), resolve(c, LOG)];
  const secretBox = withOpenedSecrets(resolve(c, SECRET_BOX));
  const { pages } = resolve(c, PLATFORMS).social;
  const completePayload = (row: ClaimedDelivery) => withLeadFields({ db, secretBox, pages, log }, row);
  const deliveryParts = { secretBox, poster: resolve(c, EVENT_POSTER), breakers, completePayload };
  return createInFlightDeliveries({
    worker,
    db,
    log,
    isAlive: () => aliveForMs() > 0,
    limiter,
    parking,
    hold,
    batchWriter: createBatchWriter({
      what: "delivery",
      write: (finishes) => finishDeliveries(db, finishes),
      withoutRemoteText,
      log,
    }),
    tracker: resolve(c, WATCHDOG).tracker,
    deliver: (row, control) => deliverEvent(deliveryParts, row, control),
    record: createAttemptRecorder(log, resolve(c, METRICS)),
  });
}

const lanesOf = (deliveries: InFlightDeliveries, limiter: ConcurrencyLimiter<EventLane>): LaneParts[] =>
  EVENT_LANES.map((lane) => ({
    lane,
    idPrefix: "evt",
    waitForFreeSlots: () => limiter.waitForFreeSlots(lane),
    freeSlots: () => limiter.freeSlotsIn(lane),
    dispatch: (entries) => deliveries.dispatch(lane, entries),
  }));

function createBackgroundWorkers(
  c: DependencyContainer,
  { aliveForMs, streams }: DeliveryParts,
  { parking, ...peerParts }: Fairness & { deliveries: InFlightDeliveries },
): Worker[] {
  const [db, log] = [resolve(c, DATABASE), resolve(c, LOG)];
  const onQuarantined = createQuarantineRecorder(log, resolve(c, METRICS));
  return [
    repeat({
      name: "delivery_sweep",
      intervalMs: 1 * SECOND,
      work: () => sweepDeliveries({ db, streams, parking, log, aliveForMs, onQuarantined }),
      log,
    }),
    repeat({
      name: "suspect_deliveries",
      intervalMs: 1 * SECOND,
      work: peerParts.deliveries.deliverSuspects,
      log,
    }),
    repeat({
      name: "peer_check",
      intervalMs: 1 * SECOND,
      work: () => checkPeers({ streams, parking, ...peerParts }),
      log,
    }),
  ];
}
