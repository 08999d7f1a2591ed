import { type EventNotifier, type MessageNotifier, notifyAfterCommit } from "../../queue/wake-ups.ts";
import type { Database } from "../../store/database/database.ts";
import { cancelSend } from "../../store/messages/cancel-sends.ts";
import { countDiscardableSends, discardSends } from "../../store/messages/fail-sends.ts";
import { releaseNextSends } from "../../store/messages/send-order.ts";
import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";
import { recordEvents } from "../events/record-events.ts";
import { DISCARDED, toStoredError } from "./message-errors.ts";
import { messageStatus } from "./send-outcomes.ts";

interface DiscardInput {
  /** Messages accepted before this time are discarded, scheduled ones only if their time lies before it too. */
  before: Date;
  /** Called with the number of messages discarded since the last call. */
  onBatch?(count: number): void;
}

export interface DiscardResult {
  discarded: number;
  /** Messages that a dispatcher is sending; they were not discarded. */
  claimed: number;
}

/** Counts the messages that discardMessages would discard, and those that are claimed. */
export async function countQueuedMessages(
  db: Database,
  clientId: string,
  before: Date,
): Promise<{ queued: number; claimed: number }> {
  const { total, discardable } = await countDiscardableSends(db, { clientId, before });
  return { queued: discardable, claimed: total - discardable };
}

/** Fails queued messages of a client with `discarded`, in batches: each with its events and its audit entry. */
export async function discardMessages(
  db: Database,
  actor: AuditActor,
  { before, onBatch }: DiscardInput,
): Promise<DiscardResult> {
  const scope = { clientId: actor.clientId, before };
  let discarded = 0;
  for (;;) {
    const count = await db.transaction(async (tx) => {
      const rows = await discardSends(tx, scope, toStoredError(DISCARDED));
      if (rows.length === 0) return 0;
      const at = new Date();
      await recordEvents(
        tx,
        rows.map((row) => messageStatus(row, "failed", { at, error: DISCARDED })),
      );
      const details = { before: before.toISOString(), discarded: rows.length };
      await recordAudit(tx, actor, { action: "messages.discarded", target: actor.clientId, details });
      await releaseNextSends(tx, rows);
      return rows.length;
    });
    if (count === 0) break;
    discarded += count;
    onBatch?.(count);
  }
  return { discarded, claimed: (await countDiscardableSends(db, scope)).total };
}

interface CancelParts {
  db: Database;
  notifier: EventNotifier;
  messageNotifier: MessageNotifier;
}

/** Cancels a message whose request is not written, with its event; does nothing to any other message. */
export async function cancelMessage(parts: CancelParts, clientId: string, messageId: string): Promise<void> {
  const released = await notifyAfterCommit(parts, async (tx, notifier) => {
    const cancelled = await cancelSend(tx, clientId, messageId);
    if (!cancelled) return [];
    await recordEvents(tx, [messageStatus(cancelled, "cancelled", { at: new Date() })], notifier);
    return releaseNextSends(tx, [cancelled]);
  });
  parts.messageNotifier.notify(released);
}
