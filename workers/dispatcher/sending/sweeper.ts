import { type EventDraft, recordEvents } from "../../../src/domain/events/record-events.ts";
import {
  CHANNEL_DISCONNECTED,
  EXPIRED,
  type MessageError,
  OUTCOME_UNKNOWN,
} from "../../../src/domain/messages/message-errors.ts";
import { messageStatus, sendResult } from "../../../src/domain/messages/message-events.ts";
import { deferUntilCommit, type QueueNotifier } from "../../../src/queue/queue-notifier.ts";
import type { Streams } from "../../../src/queue/streams.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { Database, Queryable } from "../../../src/store/database/database.ts";
import { lockSweep } from "../../../src/store/events/sweep-deliveries.ts";
import { type SendRef, unmarkQueuedSends } from "../../../src/store/messages/claim-sends.ts";
import { failDisconnected, failExpired, failUnknown } from "../../../src/store/messages/expire-sends.ts";
import { markSendsUnknown, requeueUnstartedSends } from "../../../src/store/messages/recover-sends.ts";
import { releaseAllSends } from "../../../src/store/messages/send-order.ts";
import type { SettledSend } from "../../../src/store/messages/settled-sends.ts";
import { enqueueSends, postponeUnconnectedSends } from "../../../src/store/messages/sweep-sends.ts";
import {
  LEASE_LIMITS,
  MAX_BATCH_ROWS,
  MAX_STREAM_DEPTH,
  STRANDED_AFTER_MS,
  sweepBatches,
} from "../sweep-loop.ts";

export interface SendSweepParts {
  db: Database;
  streams: Streams;
  /** Of the events. */
  notifier: QueueNotifier;
  log: Log;
  /** For how many milliseconds this process's own heart has beaten without a gap. */
  aliveForMs(): number;
  /** Milliseconds that word of an unknown outcome is waited for. */
  unknownTimeoutMs: number;
  /** Of each message that has failed without being tried again. */
  onAbandoned(row: SettledSend, error: MessageError): void;
}

/**
 * Gives to the queue whatever may go out and is not in it, takes from the dead what they had in hand, and ends what has waited
 * long enough. It is the timer of the retries too. Whoever else does it at the same moment lets us.
 */
export const sweepSends = (parts: SendSweepParts): Promise<void> => sweepBatches(() => sweepOnce(parts));

async function sweepOnce(parts: SendSweepParts): Promise<"more" | "done"> {
  const { db, streams, notifier } = parts;
  const epoch = await readEpoch(streams);
  const deferredNotifier = deferUntilCommit(notifier);
  const due = await db.transaction(async (tx) => {
    if (!(await lockSweep(tx, "sends"))) return [];
    const events = [...(await recoverSends(tx, parts)), ...(await failOverdueSends(tx, parts))];
    await recordEvents(tx, events, deferredNotifier);
    await postponeUnconnectedSends(tx);
    await releaseAllSends(tx);
    return epoch ? enqueueSends(tx, { epoch, strandedAfter: STRANDED_AFTER_MS, limit: MAX_BATCH_ROWS }) : [];
  });
  deferredNotifier.release();
  const isQueued = due.length === 0 || (await addToStream(parts, due));
  return isQueued && due.length >= MAX_BATCH_ROWS ? "more" : "done";
}

/** The life of Redis that would hear of something due; undefined while it is away, or has enough to do. */
async function readEpoch(streams: Streams): Promise<string | undefined> {
  const outboundStreams = streams.all.filter(({ lane }) => lane === "outbound");
  try {
    const [epoch, ...depths] = await Promise.all([
      streams.epoch(),
      ...outboundStreams.map(({ key }) => streams.depth(key)),
    ]);
    return depths.some((depth) => depth >= MAX_STREAM_DEPTH) ? undefined : epoch;
  } catch {
    return undefined;
  }
}

/** Whether Redis has taken them. */
async function addToStream({ db, streams, log }: SendSweepParts, due: readonly SendRef[]): Promise<boolean> {
  try {
    await streams.add("outbound", due);
    return true;
  } catch (error) {
    log.warn("sweep.enqueue_failed", { lane: "outbound", count: due.length, err: error });
    await unmarkQueuedSends(db, due);
    return false;
  }
}

/** After an outage everybody seems dead: who was silent themselves cannot tell, and waits until the others have spoken. */
async function recoverSends(tx: Queryable, parts: SendSweepParts): Promise<EventDraft[]> {
  if (parts.aliveForMs() < LEASE_LIMITS.deadAfter) return [];
  const released = await requeueUnstartedSends(tx, LEASE_LIMITS);
  const uncertain = await markSendsUnknown(tx, { ...LEASE_LIMITS, waitMs: parts.unknownTimeoutMs });
  if (released + uncertain.length > 0)
    parts.log.warn("sweep.reclaimed", { lane: "outbound", released, unknown: uncertain.length });
  return uncertain.map((row) => sendResult(row, OUTCOME_BY_STATUS[row.status] ?? "accepted"));
}

/** What the platform has told meanwhile says whether it took the message. */
const OUTCOME_BY_STATUS: Readonly<Record<string, "unknown" | "rejected">> = {
  unknown: "unknown",
  failed: "rejected",
};

/** What has waited long enough for word, for a channel, or for its turn. */
async function failOverdueSends(tx: Queryable, { onAbandoned }: SendSweepParts): Promise<EventDraft[]> {
  const [unconnected, expired] = [JSON.stringify(CHANNEL_DISCONNECTED), JSON.stringify(EXPIRED)];
  const unknown = await failUnknown(tx, JSON.stringify(OUTCOME_UNKNOWN));
  const late = await failExpired(tx, { expired, unconnected });
  const disconnected = await failDisconnected(tx, unconnected);
  for (const row of [...unknown, ...late, ...disconnected]) onAbandoned(row, errorOf(row));
  return [
    ...unknown.map(toFailedEvent),
    ...[...late, ...disconnected].flatMap((row) => [
      sendResult(row, "rejected", errorOf(row)),
      toFailedEvent(row),
    ]),
  ];
}

const errorOf = ({ error }: SettledSend): MessageError => JSON.parse(error ?? "{}");

const toFailedEvent = (row: SettledSend): EventDraft =>
  messageStatus(row, "failed", { at: new Date(), error: errorOf(row) });
