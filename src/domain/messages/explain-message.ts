import type { QueueParts } from "../../queue/queue-status.ts";
import { listLimitedChannels } from "../../queue/rates.ts";
import { MAX_LEASE_MS } from "../../runtime/deadlines.ts";
import { timeOfId } from "../../runtime/ids.ts";
import type { CauseDefinition } from "../../schema/causes/cause-definition.ts";
import {
  AWAITED_OUTCOME,
  CAUSES,
  type Cause,
  causeDocumentation,
  causeOfCode,
  errorCodeOf,
  MESSAGE_ERROR_CODES,
  NO_REASON,
} from "../../schema/causes/causes.ts";
import type { MessageDto, MessageErrorDto, MessageExplanationDto } from "../../schema/messages.ts";
import { toTimestamp } from "../../schema/times.ts";
import {
  type ExplainedRow,
  findExplainedMessage,
  findUndeliveredEvent,
  type UndeliveredEvent,
} from "../../store/messages/explanations.ts";
import { readBackendState } from "../stats/queue-stats.ts";
import { toMessage, toMessageError } from "./message-timeline.ts";

/** The cause of a message's state, and the time in which it holds. */
interface Finding {
  cause: Cause;
  /** Default: since the message has its status. */
  since?: Date | undefined;
  /** Absent when it is not known. */
  until?: Date | null;
  /** Default: that of the cause. */
  definition?: CauseDefinition;
}

/** Says why a message is as it is, who can change it, and how. Undefined when the client has no such message. */
export async function explainMessage(
  parts: QueueParts,
  clientId: string,
  messageId: string,
): Promise<MessageExplanationDto | undefined> {
  const row = await findExplainedMessage(parts.db, clientId, messageId);
  if (!row) return undefined;
  return toExplanation(row, await findCause(parts, clientId, row));
}

function findCause(parts: QueueParts, clientId: string, row: ExplainedRow): Finding | Promise<Finding> {
  switch (row.status) {
    case "failed":
      return explainFailure(row);
    case "unknown":
      return { cause: "outcome_unknown", definition: AWAITED_OUTCOME, until: row.next_attempt_at };
    case "scheduled":
    case "queued":
    case "sending":
      return findWaitingCause(parts, clientId, row);
    default:
      return findReachedCause(parts, clientId, row);
  }
}

function explainFailure({ error }: ExplainedRow): Finding {
  if (error === null) return { cause: "platform_error", definition: NO_REASON };
  return { cause: causeOfCode(errorCodeOf(JSON.parse(error))) };
}

async function findWaitingCause(parts: QueueParts, clientId: string, row: ExplainedRow): Promise<Finding> {
  const { situation, claimed_at, next_attempt_at, expires_at: until, held_since } = row;
  const acceptedAt = new Date(timeOfId(row.id));
  const activeSince = row.send_at && row.send_at > acceptedAt ? row.send_at : acceptedAt;
  const lastAttemptAt = row.last_attempt_at === null ? activeSince : new Date(row.last_attempt_at);
  if (situation === "in_flight" && claimed_at)
    return { cause: "sending", since: claimed_at, until: new Date(claimed_at.getTime() + MAX_LEASE_MS) };
  if (situation === "paused" && row.paused_at) return { cause: "batch_paused", since: row.paused_at };
  if (situation === "scheduled") return { cause: "scheduled", until: next_attempt_at };
  if (row.channel_status === "disconnected") return { cause: "channel_disconnected", since: lastAttemptAt };
  if (situation === "reconnect") return { cause: "channel_needs_reauth", since: lastAttemptAt, until };
  if (held_since) return { cause: "hold", since: held_since > activeSince ? held_since : activeSince, until };
  if (situation === "order") return { cause: "order", since: activeSince, until };
  if (situation === "retry") return { cause: "retry", since: lastAttemptAt, until: next_attempt_at };
  const channel = { clientId, channelId: row.channel_id };
  const limited = await listLimitedChannels(parts, [channel]).catch(() => new Set());
  const dueAt = row.attempts === 0 ? activeSince : (next_attempt_at ?? activeSince);
  return { cause: limited.size > 0 ? "rate" : "queued", since: dueAt, until };
}

/** Nothing is left to send: what is left is to tell the client's backend. */
async function findReachedCause(parts: QueueParts, clientId: string, row: ExplainedRow): Promise<Finding> {
  const reached = { cause: row.status as "accepted" | "sent" | "delivered" | "read" | "cancelled" };
  const event = await findUndeliveredEvent(parts.db, clientId, row.id);
  if (!event) return reached;
  if (event.state === "failed")
    return {
      cause: event.last_error === "quarantined" ? "quarantined" : "delivery_failed",
      since: event.failed_at ?? recordedAt(event),
    };
  const { breaker, nextProbeAt } = await readBackendState(parts, clientId);
  if (breaker !== "closed")
    return { cause: "backend_unavailable", since: recordedAt(event), until: nextProbeAt };
  if (event.state === "pending") return reached; // its first attempt has not failed yet
  return { cause: "backend_retry", since: recordedAt(event), until: event.next_attempt_at };
}

const recordedAt = ({ id }: UndeliveredEvent): Date => new Date(timeOfId(id));

function toExplanation(row: ExplainedRow, finding: Finding): MessageExplanationDto {
  const message = toMessage(row);
  const { message_id, batch_id, status } = message;
  const { cause, since, until = null, definition = CAUSES[cause] } = finding;
  const error = platformErrorOf(row, message);
  return {
    message_id,
    batch_id,
    status,
    verdict: definition.verdict,
    cause,
    summary: definition === CAUSES.platform_error ? describeUnlisted(error) : definition.summary,
    who_acts: definition.whoActs,
    next_step: definition.nextStep,
    since: since ? toTimestamp(since) : reachedAt(message),
    until: until && until > new Date() ? toTimestamp(until) : null,
    ...(error ? { platform_error: error } : {}),
    documentation: causeDocumentation(definition),
  };
}

/** The platform's error of a failed message, or of the last attempt while the message waits. */
function platformErrorOf(row: ExplainedRow, { error }: MessageDto): MessageErrorDto | null {
  const isWaiting = row.status === "queued" || row.status === "sending";
  const lastError = isWaiting && row.last_attempt_error ? JSON.parse(row.last_attempt_error) : null;
  const found: MessageErrorDto | null = error ?? lastError;
  return found && !isOwnCode(found.code) ? toMessageError(found) : null;
}

const isOwnCode = (code: number | string): boolean => MESSAGE_ERROR_CODES.some((own) => own === code);

const describeUnlisted = (error: MessageErrorDto | null): string => {
  const text = error && (error.details || error.message || error.title);
  return text ? `The platform refused the message: ${text}` : CAUSES.platform_error.summary;
};

/** When the message reached its status. */
const reachedAt = ({ status, statuses, created_at }: MessageDto): string =>
  statuses.findLast((reached) => reached.status === status)?.at ?? created_at;
