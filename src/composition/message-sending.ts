import type { DependencyContainer } from "tsyringe";
import { createBatchWriter } from "../../workers/dispatcher/batch-writer.ts";
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
} from "../../workers/dispatcher/concurrency-limiter.ts";
import { SEND_LANES, type SendLane } from "../../workers/dispatcher/lanes.ts";
import { createInFlightSends, type InFlightSends } from "../../workers/dispatcher/sending/in-flight.ts";
import {
  createPlatformAvailability,
  type PlatformAvailability,
} from "../../workers/dispatcher/sending/platform-availability.ts";
import { createAbandonedSendRecorder, createSendRecorder } from "../../workers/dispatcher/sending/record.ts";
import { createMessageSender } from "../../workers/dispatcher/sending/send-message.ts";
import { sweepSends } from "../../workers/dispatcher/sending/sweeper.ts";
import { withoutPlatformIds, writeSends } from "../../workers/dispatcher/sending/write-sends.ts";
import type { LaneParts } from "../../workers/dispatcher/stream-consumer.ts";
import { type ChannelQueues, createChannelQueues } from "../queue/channel-queues.ts";
import type { QueueHold } from "../queue/queue-hold.ts";
import type { Entry, Streams } from "../queue/streams.ts";
import type { EventNotifier } from "../queue/wake-ups.ts";
import { repeat } from "../runtime/async/repeat.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Worker } from "../runtime/supervise.ts";
import { withOpenedSecrets } from "../security/opened-secrets.ts";
import type { SendRef } from "../store/messages/claim-sends.ts";
import {
  CONFIG,
  DATABASE,
  LOG,
  METRICS,
  PARTITIONS,
  PLATFORMS,
  REDIS,
  resolve,
  SECRET_BOX,
  WATCHDOG,
} from "./tokens.ts";

interface SendingParts {
  /** This dispatcher's id in the rows that it claims. */
  worker: string;
  aliveForMs(): number;
  streams: Streams;
  /** The notifier for events. */
  notifier: EventNotifier;
  hold: QueueHold;
}

interface Pacing {
  limiter: ConcurrencyLimiter<SendLane>;
  queues: ChannelQueues;
  availability: PlatformAvailability;
}

/** Creates the parts that send messages to the platforms: slots, lane, sweeper and check of the queues. */
export function createMessageSending(c: DependencyContainer, parts: SendingParts) {
  const slots = resolve(c, CONFIG).DISPATCHER_CONCURRENCY;
  const limiter = createConcurrencyLimiter({ slots, lanes: SEND_LANES });
  const [partitions, perSecond] = [resolve(c, PARTITIONS), resolve(c, CONFIG).CHANNEL_RATE_PER_SECOND];
  const queues = createChannelQueues(resolve(c, REDIS), { partitions, perSecond });
  const pacing = { limiter, queues, availability: createPlatformAvailability(resolve(c, LOG)) };
  const sends = createSends(c, parts, pacing);
  const backgroundWorkers = [createSweeper(c, parts, pacing), createQueueCheck(c, sends)];
  return { sends, limiter, lane: laneOf(sends), backgroundWorkers };
}

function createSends(
  c: DependencyContainer,
  { worker, aliveForMs, streams, notifier, hold }: SendingParts,
  pacing: Pacing,
): InFlightSends {
  const [db, log] = [resolve(c, DATABASE), resolve(c, LOG)];
  return createInFlightSends({
    worker,
    db,
    log,
    isAlive: () => aliveForMs() > 0,
    ...pacing,
    hold,
    batchWriter: createBatchWriter({
      what: "message",
      write: (outcomes) => writeSends({ db, notifier, streams }, outcomes),
      withoutRemoteText: withoutPlatformIds,
      // Each send needs several writes: with fewer, most slots would be free while outcomes wait for the database.
      maxUnwritten: resolve(c, CONFIG).DISPATCHER_CONCURRENCY,
      log,
    }),
    tracker: resolve(c, WATCHDOG).tracker,
    send: createMessageSender({
      db,
      log,
      platforms: resolve(c, PLATFORMS),
      secretBox: withOpenedSecrets(resolve(c, SECRET_BOX)),
      unknownTimeoutMs: unknownTimeoutMs(c),
    }),
    record: createSendRecorder(log, resolve(c, METRICS)),
  });
}

const unknownTimeoutMs = (c: DependencyContainer) => resolve(c, CONFIG).SEND_UNKNOWN_SECONDS * SECOND;

const laneOf = (sends: InFlightSends): LaneParts => ({
  lane: "outbound",
  idPrefix: "msg",
  waitForFreeSlots: sends.waitForFreeSlots,
  freeSlots: sends.freeSlots,
  dispatch: (entries) => sends.dispatch(entries.filter(isSend)),
});

/** Entries of messages contain the channel id. */
const isSend = (entry: Entry): entry is Entry & SendRef => entry.channelId !== undefined;

const createQueueCheck = (c: DependencyContainer, { checkQueues }: InFlightSends): Worker =>
  repeat({ name: "send_queue_check", intervalMs: 1 * SECOND, work: checkQueues, log: resolve(c, LOG) });

function createSweeper(
  c: DependencyContainer,
  { aliveForMs, streams, notifier }: SendingParts,
  { queues, availability }: Pacing,
): Worker {
  const [db, log] = [resolve(c, DATABASE), resolve(c, LOG)];
  const onAbandoned = createAbandonedSendRecorder(log, resolve(c, METRICS));
  const parts = {
    db,
    streams,
    notifier,
    log,
    aliveForMs,
    unknownTimeoutMs: unknownTimeoutMs(c),
    onAbandoned,
    queues,
    availability,
  };
  return repeat({ name: "send_sweep", intervalMs: 1 * SECOND, work: () => sweepSends(parts), log });
}
