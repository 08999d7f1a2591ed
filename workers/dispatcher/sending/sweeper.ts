import { type EventDraft, recordEvents } from "../../../src/domain/events/record-events.ts";
import {
  CHANNEL_DISCONNECTED,
  EXPIRED,
  type MessageError,
  OUTCOME_UNKNOWN,
} from "../../../src/domain/messages/message-errors.ts";
import { messageStatus, sendResult } from "../../../src/domain/messages/message-events.ts";
import { heldBack, type QueueNotifier } from "../../../src/queue/queue-notifier.ts";
import type { Streams } from "../../../src/queue/streams.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { Database, Queryable } from "../../../src/store/database/database.ts";
import { lockSweep } from "../../../src/store/events/sweep-deliveries.ts";
import { type SendRef, unqueueSends } from "../../../src/store/messages/claim-sends.ts";
import { failDisconnected, failExpired, failUnknown } from "../../../src/store/messages/expire-sends.ts";
import { doubtSends, releaseSends } from "../../../src/store/messages/recover-sends.ts";
import { releaseAll } from "../../../src/store/messages/send-order.ts";
import type { SettledSend } from "../../../src/store/messages/settled-sends.ts";
import { enqueueSends, putOffUnconnected } from "../../../src/store/messages/sweep-sends.ts";
import { BATCH, FULL, SILENCE, STRANDED_AFTER, sweepOn } from "../sweep-loop.ts";

export interface SendSweepParts {
  db: Database;
  streams: Streams;
  /** Of the events. */
  doorbell: QueueNotifier;
  log: Log;
  /** For how many milliseconds this process's own heart has beaten without a gap. */
  steadyFor(): number;
  /** Milliseconds that word of an unknown outcome is waited for. */
  unknownFor: number;
  /** Of each message that has failed without being tried again. */
  onGivenUp(row: SettledSend, error: MessageError): void;
}

/**
 * Gives to the queue whatever may go out and is not in it, takes from the dead what they had in hand, and ends what has waited
 * long enough. It is the timer of the retries too. Whoever else does it at the same moment lets us.
 */
export const sweepSends = (parts: SendSweepParts): Promise<void> => sweepOn(() => sweepOnce(parts));

async function sweepOnce(parts: SendSweepParts): Promise<"more" | "done"> {
  const { db, streams, doorbell } = parts;
  const epoch = await epochOf(streams);
  const bell = heldBack(doorbell);
  const due = await db.transaction(async (tx) => {
    if (!(await lockSweep(tx, "sends"))) return [];
    const events = [...(await recovered(tx, parts)), ...(await ended(tx, parts))];
    await recordEvents(tx, events, bell);
    await putOffUnconnected(tx);
    await releaseAll(tx);
    return epoch ? enqueueSends(tx, { epoch, strandedAfter: STRANDED_AFTER, limit: BATCH }) : [];
  });
  bell.release();
  const isTold = due.length === 0 || (await tell(parts, due));
  return isTold && due.length >= BATCH ? "more" : "done";
}

/** The life of Redis that would hear of something due; undefined while it is away, or has enough to do. */
async function epochOf(streams: Streams): Promise<string | undefined> {
  const own = streams.all.filter(({ lane }) => lane === "outbound");
  try {
    const [epoch, ...depths] = await Promise.all([
      streams.epoch(),
      ...own.map(({ key }) => streams.depth(key)),
    ]);
    return depths.some((depth) => depth >= FULL) ? undefined : epoch;
  } catch {
    return undefined;
  }
}

/** Whether Redis has taken them. */
async function tell({ db, streams, log }: SendSweepParts, due: readonly SendRef[]): Promise<boolean> {
  try {
    await streams.add("outbound", due);
    return true;
  } catch (error) {
    log.warn("sweep.not_queued", { lane: "outbound", count: due.length, err: error });
    await unqueueSends(db, due);
    return false;
  }
}

/** After an outage everybody seems dead: who was silent themselves cannot tell, and waits until the others have spoken. */
async function recovered(tx: Queryable, parts: SendSweepParts): Promise<EventDraft[]> {
  if (parts.steadyFor() < SILENCE.deadAfter) return [];
  const released = await releaseSends(tx, SILENCE);
  const doubted = await doubtSends(tx, { ...SILENCE, wait: parts.unknownFor });
  if (released + doubted.length > 0)
    parts.log.warn("sweep.recovered", { lane: "outbound", released, unknown: doubted.length });
  return doubted.map((row) => sendResult(row, OUTCOMES[row.status] ?? "accepted"));
}

/** What the platform has told meanwhile says whether it took the message. */
const OUTCOMES: Readonly<Record<string, "unknown" | "rejected">> = { unknown: "unknown", failed: "rejected" };

/** What has waited long enough for word, for a channel, or for its turn. */
async function ended(tx: Queryable, { onGivenUp }: SendSweepParts): Promise<EventDraft[]> {
  const [unconnected, expired] = [JSON.stringify(CHANNEL_DISCONNECTED), JSON.stringify(EXPIRED)];
  const unknown = await failUnknown(tx, JSON.stringify(OUTCOME_UNKNOWN));
  const late = await failExpired(tx, { expired, unconnected });
  const homeless = await failDisconnected(tx, unconnected);
  for (const row of [...unknown, ...late, ...homeless]) onGivenUp(row, errorOf(row));
  return [
    ...unknown.map(failed),
    ...[...late, ...homeless].flatMap((row) => [sendResult(row, "rejected", errorOf(row)), failed(row)]),
  ];
}

const errorOf = ({ error }: SettledSend): MessageError => JSON.parse(error ?? "{}");

const failed = (row: SettledSend): EventDraft =>
  messageStatus(row, "failed", { at: new Date(), error: errorOf(row) });
