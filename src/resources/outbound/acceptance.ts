import { ApiError, invalidField } from "../../http/api-error.ts";
import type { Operation } from "../../http/route.ts";
import { DAY, MINUTE } from "../../runtime/durations.ts";
import { databaseTime, type Queryable } from "../../store/database/database.ts";
import { findIdempotencyKey } from "../../store/tenants/idempotency-keys.ts";
import type { SendMessageDto } from "./schema.ts";

/** What the routes that accept messages share. */

/** Larger than any message that a platform accepts. */
export const MAX_CONTENT_BYTES = 256 * 1_024;

export const temporarilyUnavailable = () =>
  new ApiError("temporarily_unavailable", "The message cannot be accepted right now, please try again");

/** The other send options as JSON; null when there are none. */
export function optionsOf(
  options: Pick<SendMessageDto, "context" | "messaging_type" | "tag">,
): string | null {
  const { context, messaging_type, tag } = options;
  if (context === undefined && messaging_type === undefined && tag === undefined) return null;
  return JSON.stringify({ context, messaging_type, tag });
}

/** A repeated request gets its first reply, also when its channel no longer exists or its time has passed. */
export async function replayOrThrow(
  db: Queryable,
  clientId: string,
  { operation, error }: { operation: Operation | undefined; error: ApiError },
) {
  const key = operation && (await findIdempotencyKey(db, clientId, operation.id));
  if (key) return operation.replay(key);
  throw error;
}

/** The columns of the operation's idempotency key, with the reply that a repeated request gets. */
export const keyColumnsOf = (operation: Operation, reply: object) => ({
  key_id: operation.id,
  fingerprint: operation.fingerprint,
  reply_sealed: operation.seal(reply),
});

const MAX_AHEAD_MS = 30 * DAY;
const MAX_PAST_MS = 5 * MINUTE;

/** When messages are to be sent, and whether that lies ahead. */
export interface SendTime {
  send_at: Date | null;
  isScheduled: boolean;
}

/** Postgres's clock decides, because it also decides when the messages are due. Returns an error for a wrong time. */
export async function readSendTime(db: Queryable, text: string | undefined): Promise<SendTime | ApiError> {
  if (text === undefined) return { send_at: null, isScheduled: false };
  const send_at = new Date(text);
  const aheadMs = send_at.getTime() - (await databaseTime(db)).getTime();
  if (!(aheadMs <= MAX_AHEAD_MS)) return invalidField("/send_at", "send_at must be at most 30 days ahead");
  if (aheadMs < -MAX_PAST_MS)
    return invalidField("/send_at", "send_at must not be more than 5 minutes in the past");
  return { send_at, isScheduled: aheadMs > 0 };
}
