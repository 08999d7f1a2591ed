import type { DependencyContainer } from "tsyringe";
import { createBatchWriter } from "../../workers/dispatcher/batch-writer.ts";
import { createClaimLoop } from "../../workers/dispatcher/claim-loop.ts";
import { createConcurrencyLimiter } from "../../workers/dispatcher/concurrency-limiter.ts";
import { SEND_LANE, SEND_LANES } from "../../workers/dispatcher/lanes.ts";
import { createPlatformAvailability } from "../../workers/dispatcher/sending/platform-availability.ts";
import { createAbandonedSendRecorder, createSendRecorder } from "../../workers/dispatcher/sending/record.ts";
import { createSendRecovery } from "../../workers/dispatcher/sending/recovery.ts";
import { createMessageSender } from "../../workers/dispatcher/sending/send-message.ts";
import { createSends, withoutPlatformIds, writeSends } from "../../workers/dispatcher/sending/sends.ts";
import { createWakeUpConsumer } from "../../workers/dispatcher/wake-up-consumer.ts";
import type { QueueHold } from "../queue/queue-hold.ts";
import { createRates } from "../queue/rates.ts";
import { createWakeUpClient } from "../queue/redis.ts";
import { repeat } from "../runtime/async/repeat.ts";
import { SECOND } from "../runtime/durations.ts";
import { isClientId, isPrefixedId } from "../runtime/ids.ts";
import type { Worker } from "../runtime/supervise.ts";
import { withOpenedSecrets } from "../security/opened-secrets.ts";
import type { DueSendKey, SendKey } from "../store/messages/claim-sends.ts";
import {
  CONFIG,
  DATABASE,
  EVENT_NOTIFIER,
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

interface SendingParts {
  /** This dispatcher's id in the rows that it claims. */
  worker: string;
  aliveForMs(): number;
  /** Dispatchers that are alive, this one included. */
  aliveCount(): number;
  hold: QueueHold;
}

/** Creates the parts that send messages to the platforms: slots, rates, claim loop, recovery. */
export function createMessageSending(c: DependencyContainer, parts: SendingParts) {
  const [config, log, metrics] = [resolve(c, CONFIG), resolve(c, LOG), resolve(c, METRICS)];
  const [redisState, tags] = [resolve(c, REDIS_STATE), resolve(c, TAGS)];
  const limiter = createConcurrencyLimiter({ slots: config.DISPATCHER_CONCURRENCY, lanes: SEND_LANES });
  const rates = createRates({
    redis: resolve(c, REDIS),
    tags,
    perSecond: config.CHANNEL_RATE_PER_SECOND,
    // In a cluster this is the state of all nodes; the channels of the others keep their buckets in Redis.
    isWritable: () => tags.length > 1 || redisState.isWritable(),
    liveDispatchers: parts.aliveCount,
  });
  const sends = createSends({
    worker: parts.worker,
    db: resolve(c, DATABASE),
    log,
    limiter,
    rates,
    availability: createPlatformAvailability(log),
    onSlotFree: () => loop.onSlotFree(),
    batchWriter: createSendWriter(c, (keys) =>
      loop.wakeSince(keys.map(({ after, ...key }) => ({ key, after }))),
    ),
    tracker: resolve(c, WATCHDOG).tracker,
    send: createMessageSender({
      db: resolve(c, DATABASE),
      log,
      platforms: resolve(c, PLATFORMS),
      secretBox: withOpenedSecrets(resolve(c, SECRET_BOX)),
      unknownTimeoutMs: config.SEND_UNKNOWN_SECONDS * SECOND,
    }),
    record: createSendRecorder(log, metrics),
  });
  const loop = createClaimLoop({
    queue: sends.queue,
    mayClaim: () => parts.aliveForMs() > 0 && !parts.hold.isHeld(),
    hasWakeUps: () => consumer.isReading() && redisState.isWritable(),
    onClaimed: (found_by, rows) => metrics.claimedSends.inc({ found_by }, rows),
    log,
    logEvents: { unavailable: "send_claims.failed", recovered: "send_claims.recovered" },
  });
  const consumer = createWakeUpConsumer({
    lane: SEND_LANE,
    tags,
    connect: () => createWakeUpClient(config),
    waitForSlots: loop.waitForSlots,
    wake: (entries) => loop.wake(entries.filter(isOutboundEntry).map(toOutboundKey)),
    log,
  });
  const backgroundWorkers: Worker[] = [consumer, loop, createRecovery(c, parts)];
  return { sends, limiter, backgroundWorkers };
}

const isOutboundEntry = ([clientId = "", channelId = ""]: readonly string[]): boolean =>
  isClientId(clientId) && isPrefixedId(channelId, "ch");

const toOutboundKey = ([clientId = "", channelId = "", batchId = ""]: readonly string[]): SendKey => ({
  clientId,
  channelId,
  batchId,
  isSuspect: false,
});

function createSendWriter(c: DependencyContainer, onReleased: (keys: readonly DueSendKey[]) => void) {
  const parts = { db: resolve(c, DATABASE), notifier: resolve(c, EVENT_NOTIFIER), onReleased };
  return createBatchWriter({
    what: "message",
    write: (outcomes) => writeSends(parts, outcomes),
    withoutRemoteText: withoutPlatformIds,
    // Each send needs several writes: with fewer, most slots would be free while outcomes wait for the database.
    maxUnwritten: resolve(c, CONFIG).DISPATCHER_CONCURRENCY,
    log: resolve(c, LOG),
  });
}

function createRecovery(c: DependencyContainer, { aliveForMs }: SendingParts): Worker {
  const log = resolve(c, LOG);
  const work = createSendRecovery({
    db: resolve(c, DATABASE),
    log,
    notifier: resolve(c, EVENT_NOTIFIER),
    aliveForMs,
    unknownTimeoutMs: resolve(c, CONFIG).SEND_UNKNOWN_SECONDS * SECOND,
    onAbandoned: createAbandonedSendRecorder(log, resolve(c, METRICS)),
  });
  return repeat({ name: "send_recovery", intervalMs: 1 * SECOND, work, log });
}
