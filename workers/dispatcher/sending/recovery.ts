import { type EventDraft, recordEvents } from "../../../src/domain/events/record-events.ts";
import {
  CHANNEL_DISCONNECTED,
  EXPIRED,
  type MessageError,
  OUTCOME_UNKNOWN,
  QUARANTINED,
  UNKNOWN_ATTEMPT_ERRORS,
} from "../../../src/domain/messages/message-errors.ts";
import { messageStatus, sendResult } from "../../../src/domain/messages/message-events.ts";
import { type EventNotifier, notifyAfterCommit } from "../../../src/queue/wake-ups.ts";
import { WORKER_DEAD_AFTER_MS } from "../../../src/runtime/deadlines.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { Database, Queryable } from "../../../src/store/database/database.ts";
import {
  failDisconnected,
  failExpired,
  failQuarantined,
  failUnknown,
} from "../../../src/store/messages/expire-sends.ts";
import { markSendsUnknown, requeueUnstartedSends } from "../../../src/store/messages/recover-sends.ts";
import {
  type ChannelRecipient,
  releaseMissedSends,
  releaseNextSends,
} from "../../../src/store/messages/send-order.ts";
import type { SettledSend } from "../../../src/store/messages/settled-sends.ts";
import { lockRecovery } from "../../../src/store/processes/recovery-lock.ts";
import { LEASE_LIMITS } from "../../../src/store/processes/workers.ts";

/**
 * The recovery runs once a second. It makes the sends of dead dispatchers wait again, or unknown, fails sends that waited too
 * long, and releases sends that wait behind one that has ended. One dispatcher does it at a time.
 */

export interface SendRecoveryParts {
  db: Database;
  log: Log;
  /** Notifies of the events. */
  notifier: EventNotifier;
  /** Milliseconds for which this worker's heartbeats have had no gap. */
  aliveForMs(): number;
  /** Milliseconds that a send of unknown outcome waits for a status webhook. */
  unknownTimeoutMs: number;
  /** Called for each message that failed and is not retried. */
  onAbandoned(row: SettledSend, error: MessageError): void;
}

/** Returns the function that runs the recovery once. */
export function createSendRecovery(parts: SendRecoveryParts): () => Promise<void> {
  let lastChecked: ChannelRecipient | undefined;
  return async () => {
    const found = await notifyAfterCommit(parts, async (tx, notifier) => {
      const isLocked = await lockRecovery(tx, "sends");
      return isLocked ? recoverOnce(tx, { ...parts, notifier }, lastChecked) : undefined;
    });
    if (!found) return;
    lastChecked = found.lastChecked;
    report(parts, found);
  };
}

type Recovered = Awaited<ReturnType<typeof recoverOnce>>;

async function recoverOnce(tx: Queryable, parts: SendRecoveryParts, last: ChannelRecipient | undefined) {
  // After a database outage every worker looks dead: one with a gap itself first waits for the others' heartbeats.
  const canJudgeOthers = parts.aliveForMs() >= WORKER_DEAD_AFTER_MS;
  const expired = canJudgeOthers ? await recoverExpired(tx, parts) : { requeued: 0, interrupted: [] };
  const { unknown, unsent } = await failOverdue(tx);
  const abandoned = [...unknown, ...unsent];
  const events = [
    ...expired.interrupted.map((row) => sendResult(row, OUTCOME_BY_STATUS[row.status] ?? "accepted")),
    ...unknown.map(toFailedEvent),
    ...unsent.flatMap((row) => [sendResult(row, "rejected", errorOf(row)), toFailedEvent(row)]),
  ];
  await recordEvents(tx, events, parts.notifier);
  await releaseNextSends(tx, [...expired.interrupted, ...abandoned]);
  return { ...expired, abandoned, lastChecked: await releaseMissedSends(tx, last) };
}

/** Sends without a started request wait again; those with one become unknown and are never sent again. */
async function recoverExpired(tx: Queryable, { unknownTimeoutMs }: SendRecoveryParts) {
  const requeued = await requeueUnstartedSends(tx, LEASE_LIMITS);
  const error = JSON.stringify(UNKNOWN_ATTEMPT_ERRORS.interrupted);
  const interrupted = await markSendsUnknown(tx, { ...LEASE_LIMITS, waitMs: unknownTimeoutMs, error });
  return { requeued, interrupted };
}

/** A status webhook may have arrived meanwhile; it decides whether the platform accepted the message. */
const OUTCOME_BY_STATUS: Readonly<Record<string, "unknown" | "rejected">> = {
  unknown: "unknown",
  failed: "rejected",
};

/** Fails sends that waited too long for a status, for their channel or for their turn, or are quarantined. */
async function failOverdue(tx: Queryable) {
  const [unconnected, expired] = [JSON.stringify(CHANNEL_DISCONNECTED), JSON.stringify(EXPIRED)];
  const unknown = await failUnknown(tx, JSON.stringify(OUTCOME_UNKNOWN));
  const unsent = [
    ...(await failExpired(tx, { expired, unconnected })),
    ...(await failDisconnected(tx, unconnected)),
    ...(await failQuarantined(tx, JSON.stringify(QUARANTINED))),
  ];
  return { unknown, unsent };
}

function report(
  { log, onAbandoned }: SendRecoveryParts,
  { requeued, interrupted, abandoned }: Recovered,
): void {
  for (const { client_id: client, id, channel_id: channel, platform } of interrupted)
    log.warn("message.interrupted", { client, message_id: id, channel, platform });
  if (requeued + interrupted.length > 0)
    log.warn("recovery.reclaimed", { lane: "outbound", released: requeued, unknown: interrupted.length });
  for (const row of abandoned) onAbandoned(row, errorOf(row));
}

const errorOf = ({ error }: SettledSend): MessageError => JSON.parse(error ?? "{}");

const toFailedEvent = (row: SettledSend): EventDraft =>
  messageStatus(row, "failed", { at: new Date(), error: errorOf(row) });
