import type { DependencyContainer } from "tsyringe";
import { createBatchWriter } from "../../workers/dispatcher/batch-writer.ts";
import { createConcurrencyLimiter } from "../../workers/dispatcher/concurrency-limiter.ts";
import { SEND_LANES } from "../../workers/dispatcher/lanes.ts";
import { createInFlightSends } from "../../workers/dispatcher/sending/in-flight.ts";
import { createAbandonedSendRecorder, createSendRecorder } from "../../workers/dispatcher/sending/record.ts";
import { sendMessage } from "../../workers/dispatcher/sending/send-message.ts";
import { sweepSends } from "../../workers/dispatcher/sending/sweeper.ts";
import { withoutPlatformIds, writeSends } from "../../workers/dispatcher/sending/write-sends.ts";
import { invalidateChannelToken } from "../domain/channels/channels.ts";
import type { QueueNotifier } from "../queue/queue-notifier.ts";
import { createSendRateLimiter } from "../queue/send-rate.ts";
import type { Streams } from "../queue/streams.ts";
import { createBatcher } from "../runtime/async/batcher.ts";
import { repeat } from "../runtime/async/repeat.ts";
import { SECOND } from "../runtime/durations.ts";
import { markSending, type SendMark } from "../store/messages/claim-sends.ts";
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
} from "./tokens.ts";

interface SendingParts {
  /** This dispatcher's name in the rows. */
  worker: string;
  aliveForMs(): number;
  streams: Streams;
  /** Of the events. */
  notifier: QueueNotifier;
}

const MAX_MARK_BATCH_ROWS = 100;

/** What sends the messages, and what is done beside it. */
export function createMessageSending(
  c: DependencyContainer,
  { worker, aliveForMs, streams, notifier }: SendingParts,
) {
  const [config, db, log] = [resolve(c, CONFIG), resolve(c, DATABASE), resolve(c, LOG)];
  const perSecond = config.CHANNEL_RATE_PER_SECOND;
  const unknownTimeoutMs = config.SEND_UNKNOWN_SECONDS * SECOND;
  const limiter = createConcurrencyLimiter({ slots: config.DISPATCHER_CONCURRENCY, lanes: SEND_LANES });
  const marks = createBatcher<SendMark, boolean>({
    maxItems: MAX_MARK_BATCH_ROWS,
    async run(batch) {
      const marked = new Set(await markSending(db, batch));
      return ({ id }) => marked.has(id);
    },
  });
  const parts = { platforms: resolve(c, PLATFORMS), secretBox: resolve(c, SECRET_BOX), unknownTimeoutMs };
  const sends = createInFlightSends({
    worker,
    db,
    log,
    isAlive: () => aliveForMs() > 0,
    limiter,
    rateLimiter: createSendRateLimiter(resolve(c, REDIS), { partitions: resolve(c, PARTITIONS), perSecond }),
    batchWriter: createBatchWriter({
      what: "message",
      write: (outcomes) => writeSends({ db, notifier, streams }, outcomes),
      withoutRemoteText: withoutPlatformIds,
      log,
    }),
    send: (row, lease) =>
      sendMessage(
        {
          ...parts,
          mark: (sendMark) => marks.add({ ...sendMark, lease }),
          onDeadToken: ({ channel_id: id, ...channel }) => invalidateChannelToken(db, { ...channel, id }),
        },
        row,
      ),
    record: createSendRecorder(log, resolve(c, METRICS)),
  });
  const onAbandoned = createAbandonedSendRecorder(log, resolve(c, METRICS));
  const sweeper = repeat({
    name: "send-sweeper",
    intervalMs: 1 * SECOND,
    work: () => sweepSends({ db, streams, notifier, log, aliveForMs, unknownTimeoutMs, onAbandoned }),
    log,
  });
  return { sends, limiter, sweeper };
}
