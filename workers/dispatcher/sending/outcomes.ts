import type { EventDraft } from "../../../src/domain/events/record-events.ts";
import {
  type MessageError,
  NOT_BUILT,
  toStoredError,
  UNKNOWN_ATTEMPT_ERRORS,
} from "../../../src/domain/messages/message-errors.ts";
import {
  messageStatus,
  pairRetryDelay,
  sendResult,
  sendRetryDelay,
} from "../../../src/domain/messages/send-outcomes.ts";
import type { PlatformError } from "../../../src/platforms/errors/verdicts.ts";
import type { SendOutcome, UnknownReason } from "../../../src/platforms/sends.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/log.ts";
import type { Metrics } from "../../../src/runtime/metrics.ts";
import type { ClaimedSend } from "../../../src/store/messages/claim-sends.ts";
import type { SendFinish } from "../../../src/store/messages/finish-sends.ts";
import type { PlatformAttempt, SettledSend } from "../../../src/store/messages/lifecycle.ts";

/** The outcome of a send without its key and lease, and the events for its client. */
export interface MessageOutcome {
  finish: Omit<SendFinish, "client_id" | "id" | "lease">;
  events: EventDraft[];
  /** For the log. */
  error?: MessageError;
  /** How long the channel may send nothing, because the platform has asked for a pause. */
  pauseMs?: number;
  /** True when a new token decides when the next attempt follows, and not the delay. */
  waitsForReconnect?: true;
  fault?: Error;
}

/** Progress of a send when its outcome is decided. */
export interface Progress {
  /** Platform ids of the parts that the platform accepted. */
  ids: readonly (string | null)[];
  at: Date;
  /** The requests of this attempt. */
  requests: RequestTimes;
  /** Milliseconds that a send of unknown outcome waits for a status webhook. */
  unknownTimeoutMs: number;
}

/** When the first request was made, how long all of them took, and the status of the last response. */
export interface RequestTimes {
  /** Absent before the first request. */
  startedAt?: Date;
  durationMs: number;
  statusCode: number | null;
}

type SpecificOutcome<O extends SendOutcome["outcome"]> = Extract<SendOutcome, { outcome: O }>;

/** Attempts after which a message that cannot be built fails. */
const MAX_INTERNAL_FAILURES = 5;

export function accepted(row: ClaimedSend, progress: Progress): MessageOutcome {
  const { ids, at } = progress;
  // Only the chat platform reports when it has sent an accepted message.
  const statuses = row.platform === "chatapp" ? ["accepted"] : ["accepted", "sent"];
  const updatedRow = { ...row, platform_message_id: ids[0] ?? null };
  return {
    finish: {
      ...progressColumns(progress),
      outcome: "accepted",
      steps: statuses.map((status) => toTimelineStep(status, at)),
      attempt: toAttempt(progress, "accepted"),
    },
    events: [
      sendResult(updatedRow, "accepted"),
      ...(statuses.includes("sent") ? [messageStatus(updatedRow, "sent", { at })] : []),
    ],
  };
}

export function refused(row: ClaimedSend, progress: Progress, error: MessageError): MessageOutcome {
  const updatedRow = { ...row, platform_message_id: progress.ids[0] ?? null };
  const { at } = progress;
  return {
    finish: {
      ...progressColumns(progress),
      outcome: "refused",
      steps: [toTimelineStep("failed", at)],
      attempt: toAttempt(progress, "rejected", error),
      ...toStoredError(error),
    },
    events: [sendResult(updatedRow, "rejected", error), messageStatus(updatedRow, "failed", { at, error })],
    error,
  };
}

/** For a message, or its next part, that was not sent. */
export function retryLater(
  row: ClaimedSend,
  progress: Progress,
  retry: SpecificOutcome<"retry">,
): MessageOutcome {
  const { error: platformError, wait = 0, pair } = retry;
  // Without a request: the platform asked for a pause earlier.
  if (platformError === undefined && wait > 0) return { ...notAttempted(progress), pauseMs: wait };
  const delay = Math.max(wait, (pair ? pairRetryDelay : sendRetryDelay)(row.attempts + 1));
  const error = platformError && toMessageError(platformError);
  return {
    finish: {
      ...reschedule(row, progress, delay),
      attempt: toAttempt(progress, "retry", error),
      ...(error ? toStoredError(error) : {}),
    },
    events: [],
    ...(error ? { error } : {}),
  };
}

/**
 * For a message that was refused because of a dead token. The delay is always short: the message keeps its place before
 * later ones to the same person, and a token that was replaced meanwhile is used soon.
 */
export function retryAfterReconnect(
  row: ClaimedSend,
  progress: Progress,
  refusal: PlatformError,
): MessageOutcome {
  const error = toMessageError(refusal);
  const finish = {
    ...reschedule(row, progress, sendRetryDelay(1)),
    attempt: toAttempt(progress, "retry", error),
    ...toStoredError(error),
  };
  return { finish, events: [], error, waitsForReconnect: true };
}

/** Waits again at its place; no attempt is counted. */
export const notAttempted = (progress: Progress): MessageOutcome => ({
  finish: { ...progressColumns(progress), outcome: "waiting", steps: [], attempt: null },
  events: [],
});

/** For a message whose status webhook came before this attempt. */
export const settled = (progress: Progress): MessageOutcome => ({
  finish: { ...progressColumns(progress), outcome: "settled", steps: [], attempt: null },
  events: [],
});

export const unknown = (row: ClaimedSend, progress: Progress, reason: UnknownReason): MessageOutcome => ({
  finish: {
    ...progressColumns(progress),
    outcome: "unknown",
    steps: [toTimelineStep("unknown", progress.at)],
    attempt: toAttempt(progress, "unknown", UNKNOWN_ATTEMPT_ERRORS[reason]),
    delay_ms: progress.unknownTimeoutMs,
  },
  events: [sendResult(row, "unknown")],
});

export function internalFailure(row: ClaimedSend, progress: Progress, fault: Error): MessageOutcome {
  const stored = toStoredError(NOT_BUILT);
  // A send whose last attempt failed for another reason may still succeed.
  const shouldFail = row.attempts + 1 >= MAX_INTERNAL_FAILURES && row.last_error === stored.error;
  if (shouldFail) return { ...refused(row, progress, NOT_BUILT), fault };
  const attempt = toAttempt(progress, "retry", NOT_BUILT);
  const finish = { ...reschedule(row, progress, sendRetryDelay(row.attempts + 1)), attempt, ...stored };
  return { finish, events: [], error: NOT_BUILT, fault };
}

/** Whether the platform answered an attempt. Undefined when there was none, or when the connection broke later. */
export function hasConnection({ finish: { attempt } }: MessageOutcome): boolean | undefined {
  if (!attempt) return undefined;
  if (attempt.status_code !== null) return true;
  return attempt.outcome === "retry" && attempt.error === null ? false : undefined;
}

/** Bounds the history of a message that is retried with a long error. */
const MAX_ERROR_TEXT_CHARS = 1_000;

function toAttempt(
  { requests, at }: Progress,
  outcome: PlatformAttempt["outcome"],
  error?: MessageError,
): PlatformAttempt {
  const shorten = (_name: string, value: unknown) =>
    typeof value === "string" ? value.slice(0, MAX_ERROR_TEXT_CHARS) : value;
  return {
    at: (requests.startedAt ?? at).toISOString(),
    outcome,
    status_code: requests.statusCode,
    duration_ms: requests.durationMs,
    error: error ? JSON.stringify(error, shorten) : null,
  };
}

const toTimelineStep = (status: string, at: Date) => ({ status, at: at.toISOString() });

const progressColumns = ({ ids }: Progress) => ({
  platform_message_id: ids[0] ?? null,
  caption_message_id: ids[1] ?? null,
  parts_sent: ids.length,
  error: null,
  error_code: null,
  delay_ms: null,
});

/** Due again after the delay, at the latest when the message expires. */
const reschedule = ({ expires_at }: ClaimedSend, progress: Progress, delay: number) => ({
  ...progressColumns(progress),
  outcome: "waiting" as const,
  steps: [],
  attempt: null,
  delay_ms: Math.min(delay, Math.max(0, expires_at.getTime() - Date.now())),
});

/** The platform's message repeats the code at its start. */
const messageWithoutCode = ({ message }: PlatformError) => message.replace(/^\(#\d+\) /, "");

export const toMessageError = (error: PlatformError): MessageError => ({
  code: error.code,
  ...(error.subcode === undefined ? {} : { subcode: error.subcode }),
  title: error.userTitle ?? messageWithoutCode(error),
  message: error.message,
  details: error.details ?? error.userMessage ?? null,
});

/** Logs and counts each attempt to send, without content and recipient. */
export function createSendRecorder(log: Log, metrics: Metrics) {
  return (row: ClaimedSend, sent: MessageOutcome, ms: number): void => {
    const { finish, error, fault } = sent;
    const { outcome, attempt } = finish;
    if (!attempt) return; // not counted as an attempt
    metrics.sends.inc({ platform: row.platform, outcome });
    metrics.sendSeconds.observe(ms / SECOND);
    log[fault ? "error" : "info"]("message.sent", {
      client: row.client_id,
      message_id: row.id,
      channel: row.channel_id,
      platform: row.platform,
      type: row.type,
      attempt: row.attempts + 1,
      outcome,
      code: error?.code,
      retry_in: retryInSeconds(sent),
      ...(fault ? { err: fault } : {}),
      ms,
    });
  };
}

const retryInSeconds = ({ finish, waitsForReconnect }: MessageOutcome): number | null =>
  finish.outcome === "waiting" && finish.delay_ms !== null && !waitsForReconnect
    ? Math.round(finish.delay_ms / SECOND)
    : null;

/** Logs and counts each message that failed because it waited too long. */
export const createAbandonedSendRecorder =
  (log: Log, metrics: Metrics) =>
  ({ client_id: client, id, channel_id: channel, platform }: SettledSend, { code }: MessageError): void => {
    metrics.sends.inc({ platform, outcome: "given_up" });
    log.warn("message.abandoned", { client, message_id: id, channel, platform, code });
  };
