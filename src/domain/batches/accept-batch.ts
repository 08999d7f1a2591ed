import type { MessageNotifier } from "../../queue/wake-ups.ts";
import { acceptBatch, findBatchRejection, type NewBatch } from "../../store/batches/accept-batch.ts";
import type { Database } from "../../store/database/database.ts";
import type { IdempotencyKeyRow } from "../../store/tenants/idempotency-keys.ts";

/** Outcome of accepting a batch. */
export type AcceptBatchOutcome =
  | { outcome: "accepted" }
  /** The idempotency key was used before, by this request or another. */
  | { outcome: "known"; key: IdempotencyKeyRow }
  | { outcome: "not_connected"; status: string }
  | { outcome: "no_channel" }
  /** The client has too many unfinished batches. */
  | { outcome: "too_many" }
  /** The channel or the key has changed meanwhile: a later attempt may succeed. */
  | { outcome: "contended" };

/** A batch as its client requested it, and the messages of it that are valid. */
interface RequestedBatch {
  clientId: string;
  requestId: string;
  id: string;
  status: NewBatch["status"];
  /** JSON of the common content, and of the other options. */
  content: string;
  options: string | null;
  sendAt: Date | null;
  fields: {
    channel_id: string;
    type: string;
    template?: { name: string; language: { code: string } };
    name?: string;
    rate_per_second?: number;
  };
  messages: NewBatch["messages"];
  key: Pick<NewBatch, "key_id" | "fingerprint" | "reply_sealed">;
}

function toNewBatch({ fields, key, ...request }: RequestedBatch): NewBatch {
  const { channel_id, type, template, name = null, rate_per_second = null } = fields;
  return {
    ...{ client_id: request.clientId, request_id: request.requestId, id: request.id, status: request.status },
    ...{ channel_id, type, name, rate_per_second, send_at: request.sendAt },
    ...{ content: request.content, options: request.options, messages: request.messages },
    template_name: template?.name ?? null,
    template_language: template?.language.code ?? null,
    ...key,
  };
}

/** Accepts a batch in one transaction, and wakes a dispatcher if it starts at once. */
export async function acceptNewBatch(
  { db, messageNotifier }: { db: Database; messageNotifier: MessageNotifier },
  request: RequestedBatch,
): Promise<AcceptBatchOutcome> {
  const batch = toNewBatch(request);
  const isAccepted = await db.transaction((tx) => acceptBatch(tx, batch));
  if (!isAccepted) return explainRefusal(db, batch);
  if (batch.status === "running")
    messageNotifier.notify([{ clientId: batch.client_id, channelId: batch.channel_id, batchId: batch.id }]);
  return { outcome: "accepted" };
}

async function explainRefusal(db: Database, batch: NewBatch): Promise<AcceptBatchOutcome> {
  const { fingerprint, reply_sealed, channel_status, has_room } = await findBatchRejection(db, batch);
  if (fingerprint !== null && reply_sealed !== null)
    return { outcome: "known", key: { fingerprint, reply_sealed } };
  if (channel_status === null) return { outcome: "no_channel" };
  if (channel_status !== "connected") return { outcome: "not_connected", status: channel_status };
  return { outcome: has_room ? "contended" : "too_many" };
}
