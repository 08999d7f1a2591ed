import type { DependencyContainer } from "tsyringe";
import { createBatchWriter } from "../../workers/dispatcher/batch-writer.ts";
import { createClaimLoop } from "../../workers/dispatcher/claim-loop.ts";
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
} from "../../workers/dispatcher/concurrency-limiter.ts";
import { deliverEvent, refreshBreakers } from "../../workers/dispatcher/delivering/deliver-event.ts";
import { createDeliveries, recoverQueue } from "../../workers/dispatcher/delivering/deliveries.ts";
import { withLeadFields } from "../../workers/dispatcher/delivering/lead-fields.ts";
import { withoutRemoteText } from "../../workers/dispatcher/delivering/outcomes.ts";
import {
  createAttemptRecorder,
  createQuarantineRecorder,
} from "../../workers/dispatcher/delivering/record.ts";
import { DELIVERY_LANES, type EventLane } from "../../workers/dispatcher/lanes.ts";
import { createWakeUpConsumer } from "../../workers/dispatcher/wake-up-consumer.ts";
import { type Breakers, createBreakers } from "../queue/breakers.ts";
import type { QueueHold } from "../queue/queue-hold.ts";
import { createWakeUpClient } from "../queue/redis.ts";
import { repeat } from "../runtime/async/repeat.ts";
import { SECOND } from "../runtime/durations.ts";
import { isClientId } from "../runtime/ids.ts";
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
  PLATFORMS,
  REDIS,
  REDIS_STATE,
  resolve,
  SECRET_BOX,
  TAGS,
  WATCHDOG,
} from "./tokens.ts";

interface DeliveryParts {
  /** This dispatcher's id in the rows that it claims. */
  worker: string;
  aliveForMs(): number;
  hold: QueueHold;
}

/** Creates the parts that deliver events to the clients' backends: slots, circuit breakers, claim loop, recovery. */
export function createEventDelivery(c: DependencyContainer, parts: DeliveryParts) {
  const [config, log, metrics] = [resolve(c, CONFIG), resolve(c, LOG), resolve(c, METRICS)];
  const redisState = resolve(c, REDIS_STATE);
  const breakers = createBreakers(resolve(c, REDIS), resolve(c, TAGS), { log });
  const limiter = createConcurrencyLimiter({
    slots: config.DISPATCHER_CONCURRENCY,
    lanes: DELIVERY_LANES,
    isUnhealthy: breakers.isUnhealthy,
    isHalfOpen: (clientId) => breakers.stateOfClient(clientId).state === "half_open",
  });
  const mayClaim = () => parts.aliveForMs() > 0 && !parts.hold.isHeld();
  const deliveries = createClientDeliveries(c, parts, {
    breakers,
    limiter,
    mayClaim,
    onSlotFree: () => loop.onSlotFree(),
  });
  const loop = createClaimLoop({
    queue: deliveries.queue,
    mayClaim,
    // A Redis that is full still answers reads, but takes no wake-ups.
    hasWakeUps: () => consumer.isReading() && redisState.isWritable(),
    onClaimed: (found_by, rows) => metrics.claimedDeliveries.inc({ found_by }, rows),
    log,
    logEvents: { unavailable: "delivery_claims.failed", recovered: "delivery_claims.recovered" },
  });
  const consumer = createWakeUpConsumer({
    lane: "events",
    tags: resolve(c, TAGS),
    connect: () => createWakeUpClient(config),
    waitForSlots: loop.waitForSlots,
    wake: (entries) =>
      loop.wake(entries.flatMap(([clientId]) => (isClientId(clientId) ? [{ isBulk: false, clientId }] : []))),
    log,
  });
  const [db, onQuarantined] = [resolve(c, DATABASE), createQuarantineRecorder(log, metrics)];
  const every = (name: Parameters<typeof repeat>[0]["name"], work: () => Promise<void>): Worker =>
    repeat({ name, intervalMs: 1 * SECOND, work, log });
  const backgroundWorkers: Worker[] = [
    consumer,
    loop,
    every("delivery_recovery", () => recoverQueue({ db, log, aliveForMs: parts.aliveForMs, onQuarantined })),
    every("suspect_deliveries", deliveries.deliverSuspects),
    every("breaker_check", () => refreshBreakers({ db, breakers })),
  ];
  return { deliveries, limiter, breakers, backgroundWorkers };
}

interface Fairness {
  breakers: Breakers;
  limiter: ConcurrencyLimiter<EventLane>;
  mayClaim(): boolean;
  onSlotFree(): void;
}

function createClientDeliveries(
  c: DependencyContainer,
  { worker, hold }: DeliveryParts,
  { breakers, limiter, mayClaim, onSlotFree }: Fairness,
) {
  const [db, log] = [resolve(c, DATABASE), resolve(c, LOG)];
  const secretBox = withOpenedSecrets(resolve(c, SECRET_BOX));
  const { pages } = resolve(c, PLATFORMS).social;
  const completePayload = (row: ClaimedDelivery) => withLeadFields({ db, secretBox, pages, log }, row);
  const deliveryParts = { secretBox, poster: resolve(c, EVENT_POSTER), breakers, completePayload };
  return createDeliveries({
    worker,
    db,
    limiter,
    sleepOf: breakers.sleepOf,
    sleepingClients: breakers.sleepingClients,
    mayClaim,
    isHeld: hold.isHeld,
    onSlotFree,
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
