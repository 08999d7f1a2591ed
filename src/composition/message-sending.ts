import type { DependencyContainer } from "tsyringe";
import { createFinisher } from "../../workers/dispatcher/batch-writer.ts";
import { createGate } from "../../workers/dispatcher/concurrency-limiter.ts";
import { createSends } from "../../workers/dispatcher/sending/in-flight.ts";
import { createGivenUpReport, createSendReport } from "../../workers/dispatcher/sending/record.ts";
import { sendMessage } from "../../workers/dispatcher/sending/send-message.ts";
import { sweepSends } from "../../workers/dispatcher/sending/sweeper.ts";
import { bareSend, writeSends } from "../../workers/dispatcher/sending/write-sends.ts";
import { endDeadToken } from "../domain/channels/channels.ts";
import type { QueueNotifier } from "../queue/queue-notifier.ts";
import { createRate } from "../queue/send-rate.ts";
import type { Streams } from "../queue/streams.ts";
import { gather } from "../runtime/async/batcher.ts";
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

interface Surroundings {
  /** This dispatcher's name in the rows. */
  worker: string;
  steadyFor(): number;
  streams: Streams;
  /** Of the events. */
  doorbell: QueueNotifier;
}

const MOST_MARKED = 100;

/** What sends the messages, and what is done beside it. */
export function sending(c: DependencyContainer, { worker, steadyFor, streams, doorbell }: Surroundings) {
  const [config, db, log] = [resolve(c, CONFIG), resolve(c, DATABASE), resolve(c, LOG)];
  const perSecond = config.CHANNEL_RATE_PER_SECOND;
  const unknownFor = config.SEND_UNKNOWN_SECONDS * SECOND;
  const gate = createGate({
    slots: config.DISPATCHER_CONCURRENCY,
    isUnhealthy: () => false,
    isOnTrial: () => false,
  });
  const mark = gather(async (marks: readonly SendMark[]) => {
    const marked = new Set(await markSending(db, marks));
    return ({ id }) => marked.has(id);
  }, MOST_MARKED);
  const parts = { platforms: resolve(c, PLATFORMS), secretBox: resolve(c, SECRET_BOX), unknownFor };
  const sends = createSends({
    worker,
    db,
    log,
    isAlive: () => steadyFor() > 0,
    gate,
    rate: createRate(resolve(c, REDIS), { partitions: resolve(c, PARTITIONS), perSecond }),
    finisher: createFinisher({
      what: "message",
      write: (ended) => writeSends({ db, doorbell, streams }, ended),
      bare: bareSend,
      log,
    }),
    send: (row, lease) =>
      sendMessage(
        {
          ...parts,
          mark: (about) => mark({ ...about, lease }),
          onDeadToken: ({ channel_id: id, ...channel }) => endDeadToken(db, { ...channel, id }),
        },
        row,
      ),
    report: createSendReport(log, resolve(c, METRICS)),
  });
  const onGivenUp = createGivenUpReport(log, resolve(c, METRICS));
  const sweeper = repeat({
    name: "send-sweeper",
    every: 1 * SECOND,
    work: () => sweepSends({ db, streams, doorbell, log, steadyFor, unknownFor, onGivenUp }),
    log,
  });
  return { sends, gate, sweeper };
}
