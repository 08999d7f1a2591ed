import { firstIdAt } from "../../runtime/ids.ts";
import type { Database } from "../../store/database/database.ts";
import { countDiscardableSends, type DiscardScope, discardSends } from "../../store/messages/fail-sends.ts";
import { releaseNextSends } from "../../store/messages/send-order.ts";
import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";
import { recordEvents } from "../events/record-events.ts";
import { DISCARDED, toStoredError } from "./message-errors.ts";
import { messageStatus } from "./send-outcomes.ts";

interface DiscardInput {
  /** Messages accepted before this time are discarded. */
  before: Date;
  /** Called with the number of messages discarded since the last call. */
  onBatch?(count: number): void;
}

export interface DiscardResult {
  discarded: number;
  /** Messages that a dispatcher is sending; they were not discarded. */
  claimed: number;
}

const scopeOf = (clientId: string, before: Date): DiscardScope => ({
  clientId,
  before: firstIdAt("msg", before.getTime()),
});

/** Counts the messages of a client that were accepted before this time: those to discard, and those that are claimed. */
export async function countQueuedMessages(
  db: Database,
  clientId: string,
  before: Date,
): Promise<{ queued: number; claimed: number }> {
  const { total, discardable } = await countDiscardableSends(db, scopeOf(clientId, before));
  return { queued: discardable, claimed: total - discardable };
}

/** Fails queued messages of a client with `discarded`, in batches: each with its events and its audit entry. */
export async function discardMessages(
  db: Database,
  actor: AuditActor,
  { before, onBatch }: DiscardInput,
): Promise<DiscardResult> {
  const scope = scopeOf(actor.clientId, before);
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
