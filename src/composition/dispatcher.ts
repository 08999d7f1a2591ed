import type { DependencyContainer } from "tsyringe";
import { createBatchWriter } from "../../workers/dispatcher/batch-writer.ts";
import { createClaimLoop } from "../../workers/dispatcher/claim-loop.ts";
import {
  createConcurrencyLimiter,
  DELIVERY_LANES,
  SEND_LANES,
} from "../../workers/dispatcher/concurrency-limiter.ts";
import { createEventDeliverer, refreshBreakers } from "../../workers/dispatcher/delivering/deliver-event.ts";
import { createDeliveries, createDeliveryRecovery } from "../../workers/dispatcher/delivering/deliveries.ts";
import {
  createAttemptRecorder,
  createQuarantineRecorder,
  withoutRemoteText,
} from "../../workers/dispatcher/delivering/outcomes.ts";
import { createGauges } from "../../workers/dispatcher/gauges.ts";
import { dispatcher } from "../../workers/dispatcher/lifecycle.ts";
import { createBatchSupervision } from "../../workers/dispatcher/sending/batches.ts";
import {
  createAbandonedSendRecorder,
  createSendRecorder,
} from "../../workers/dispatcher/sending/outcomes.ts";
import { createPlatformAvailability } from "../../workers/dispatcher/sending/platform-availability.ts";
import { createSendRecovery } from "../../workers/dispatcher/sending/recovery.ts";
import { createMessageSender } from "../../workers/dispatcher/sending/send-message.ts";
import { createSends, withoutPlatformIds, writeSends } from "../../workers/dispatcher/sending/sends.ts";
import { heartbeat } from "../../workers/heartbeat.ts";
import { type Breakers, createBreakers } from "../queue/breakers.ts";
import { createQueueHold } from "../queue/queue-hold.ts";
import { createRates, type Rates } from "../queue/rates.ts";
import { createReadConnector, type ReadConnector } from "../queue/redis.ts";
import { createWakeUpConsumer } from "../queue/wake-ups.ts";
import { SECOND } from "../runtime/durations.ts";
import { isClientId, isPrefixedId, newId } from "../runtime/ids.ts";
import { repeat, type Worker } from "../runtime/supervise.ts";
import { withOpenedSecrets } from "../security/secret-box.ts";
import { createPrereleaseCheck } from "../store/database/migrations.ts";
import { finishDeliveries } from "../store/events/finish-deliveries.ts";
import type { DueSendKey, SendKey } from "../store/messages/claim-sends.ts";
import { registerEventPoster, registerPlatforms, SHARED_TOKENS, sharedWorkers } from "./process.ts";
import {
  EVENT_NOTIFIER,
  EVENT_POSTER,
  MESSAGE_NOTIFIER,
  PLATFORMS,
  provide,
  type Resolved,
  resolveAll,
  WORKERS,
} from "./tokens.ts";

export function registerDispatcher(container: DependencyContainer): void {
  registerEventPoster(container);
  registerPlatforms(container);
  provide(container, WORKERS, dispatcherWorkers);
}

const DISPATCHER_TOKENS = {
  ...SHARED_TOKENS,
  platforms: PLATFORMS,
  poster: EVENT_POSTER,
  notifier: EVENT_NOTIFIER,
  messageNotifier: MESSAGE_NOTIFIER,
} as const;

/** The workers of a dispatcher in start order. The last one starts and closes all that claims rows. */
function dispatcherWorkers(container: DependencyContainer): Worker[] {
  const parts = resolveAll(container, DISPATCHER_TOKENS);
  const { config, db, log, metrics, redis, redisState, tags, platforms, poster, notifier, messageNotifier } =
    parts;
  const worker = newId("wrk");
  const ownHeartbeat = heartbeat({ id: worker, process: "dispatcher", db, log });
  const { aliveForMs } = ownHeartbeat;
  const hold = createQueueHold({ db, log });
  const mayClaim = () => aliveForMs() > 0 && !hold.isHeld();
  const breakers = createBreakers(redis, tags, { log });
  const rates = createRates({
    redis,
    tags,
    perSecond: config.CHANNEL_RATE_PER_SECOND,
    // In a cluster this is the state of all nodes; the channels of the others keep their buckets in Redis.
    isWritable: () => tags.length > 1 || redisState.isWritable(),
    liveDispatchers: ownHeartbeat.aliveCount,
  });
  const claiming = { ...parts, worker, mayClaim, connectReader: createReadConnector(config, redis) };
  const events = createEventDelivery({ ...claiming, isHeld: hold.isHeld, breakers });
  const messages = createMessageSending({ ...claiming, rates });
  const limiters = { events: events.limiter, messages: messages.limiter };
  metrics.addCollector(createGauges({ db, redis, tags, breakers, limiters, metrics }));
  const everySecond = (
    name: Parameters<typeof repeat>[0]["name"],
    work: Parameters<typeof repeat>[0]["work"],
  ): Worker => repeat({ name, intervalMs: 1 * SECOND, work, log });
  const onQuarantined = createQuarantineRecorder(log, metrics);
  const recoverSends = createSendRecovery({
    db,
    log,
    notifier,
    aliveForMs,
    unknownTimeoutMs: config.SEND_UNKNOWN_SECONDS * SECOND,
    onAbandoned: createAbandonedSendRecorder(log, metrics),
    onReleased: messages.wake,
  });
  return [
    ...sharedWorkers(parts),
    createPrereleaseCheck(db),
    { name: "platforms", close: platforms.close },
    { name: "event-poster", close: poster.close },
    ownHeartbeat,
    notifier,
    messageNotifier,
    dispatcher({
      inFlight: [events.deliveries, messages.sends],
      backgroundWorkers: [
        hold,
        events.consumer,
        events.loop,
        everySecond("delivery_recovery", createDeliveryRecovery({ db, log, aliveForMs, onQuarantined })),
        everySecond("suspect_deliveries", events.deliveries.deliverSuspects),
        everySecond("breaker_check", () => refreshBreakers({ db, breakers })),
        messages.consumer,
        messages.loop,
        everySecond("send_recovery", recoverSends),
        everySecond("batch_supervision", createBatchSupervision({ db, log, notifier, messageNotifier })),
      ],
      log,
    }),
  ];
}

/** The parts of both deliveries and sends. */
interface ClaimingParts extends Resolved<typeof DISPATCHER_TOKENS> {
  /** This dispatcher's id in the rows that it claims. */
  worker: string;
  /** False while the queue is held, or this dispatcher's heartbeats are not recorded. */
  mayClaim(): boolean;
  /** Connects the readers of wake-ups. */
  connectReader: ReadConnector;
}

interface DeliveryParts extends ClaimingParts {
  isHeld(): boolean;
  breakers: Breakers;
}

/** Creates the parts that deliver events to the clients' backends. */
function createEventDelivery(parts: DeliveryParts) {
  const { config, db, log, metrics, redisState, tags, worker, mayClaim, breakers } = parts;
  const limiter = createConcurrencyLimiter({
    slots: config.DISPATCHER_CONCURRENCY,
    lanes: DELIVERY_LANES,
    isUnhealthy: breakers.isUnhealthy,
    isHalfOpen: (clientId) => breakers.stateOfClient(clientId).state === "half_open",
  });
  const deliveries = createDeliveries({
    worker,
    db,
    limiter,
    sleepOf: breakers.sleepOf,
    sleepingClients: breakers.sleepingClients,
    mayClaim,
    isHeld: parts.isHeld,
    onSlotFree: () => loop.onSlotFree(),
    batchWriter: createBatchWriter({
      what: "delivery",
      write: (finishes) => finishDeliveries(db, finishes),
      withoutRemoteText,
      log,
    }),
    tracker: parts.watchdog.tracker,
    deliver: createEventDeliverer({
      secretBox: withOpenedSecrets(parts.secretBox),
      poster: parts.poster,
      breakers,
    }),
    record: createAttemptRecorder(log, metrics),
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
    tags,
    connect: parts.connectReader,
    waitForSlots: loop.waitForSlots,
    wake: (entries) =>
      loop.wake(entries.flatMap(([clientId]) => (isClientId(clientId) ? [{ isBulk: false, clientId }] : []))),
    log,
  });
  return { deliveries, limiter, loop, consumer };
}

/** Creates the parts that send messages to the platforms. */
function createMessageSending(parts: ClaimingParts & { rates: Rates }) {
  const { config, db, log, metrics, redisState, tags, platforms, notifier, worker, mayClaim, rates } = parts;
  const limiter = createConcurrencyLimiter({ slots: config.DISPATCHER_CONCURRENCY, lanes: SEND_LANES });
  const wake = (keys: readonly DueSendKey[]) =>
    loop.wakeSince(keys.map(({ after, ...key }) => ({ key, after })));
  const writing = { db, notifier, onReleased: wake };
  const sends = createSends({
    worker,
    db,
    log,
    limiter,
    rates,
    availability: createPlatformAvailability(log),
    onSlotFree: () => loop.onSlotFree(),
    batchWriter: createBatchWriter({
      what: "message",
      write: (outcomes) => writeSends(writing, outcomes),
      withoutRemoteText: withoutPlatformIds,
      // Each send needs several writes: with fewer, most slots would be free while outcomes wait for the database.
      maxUnwritten: config.DISPATCHER_CONCURRENCY,
      log,
    }),
    tracker: parts.watchdog.tracker,
    send: createMessageSender({
      db,
      log,
      platforms,
      secretBox: withOpenedSecrets(parts.secretBox),
      unknownTimeoutMs: config.SEND_UNKNOWN_SECONDS * SECOND,
    }),
    record: createSendRecorder(log, metrics),
  });
  const loop = createClaimLoop({
    queue: sends.queue,
    mayClaim,
    hasWakeUps: () => consumer.isReading() && redisState.isWritable(),
    onClaimed: (found_by, rows) => metrics.claimedSends.inc({ found_by }, rows),
    log,
    logEvents: { unavailable: "send_claims.failed", recovered: "send_claims.recovered" },
  });
  const consumer = createWakeUpConsumer({
    lane: "outbound",
    tags,
    connect: parts.connectReader,
    waitForSlots: loop.waitForSlots,
    wake: (entries) => loop.wake(entries.filter(isOutboundEntry).map(toOutboundKey)),
    log,
  });
  return { sends, limiter, loop, consumer, wake };
}

const isOutboundEntry = ([clientId = "", channelId = ""]: readonly string[]): boolean =>
  isClientId(clientId) && isPrefixedId(channelId, "ch");

const toOutboundKey = ([clientId = "", channelId = "", batchId = ""]: readonly string[]): SendKey => ({
  clientId,
  channelId,
  batchId,
  isSuspect: false,
});
