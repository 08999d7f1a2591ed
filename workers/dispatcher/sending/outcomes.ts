import type { EventDraft } from "../../../src/domain/events/record-events.ts";
import { type MessageError, NOT_BUILT } from "../../../src/domain/messages/message-errors.ts";
import { messageStatus, sendResult } from "../../../src/domain/messages/message-events.ts";
import { nextSend, nextToPair } from "../../../src/domain/messages/send-schedule.ts";
import type { PlatformError } from "../../../src/platforms/errors/platform-error.ts";
import type { SendOutcome } from "../../../src/platforms/sends.ts";
import type { ClaimedSend } from "../../../src/store/messages/claim-sends.ts";
import type { SendFinish } from "../../../src/store/messages/finish-sends.ts";

/** How it goes on with a message, apart from whose it is, and what its client is told. */
export interface SendEnding {
  finish: Omit<SendFinish, "client_id" | "id" | "lease">;
  events: EventDraft[];
  /** For the log. */
  error?: MessageError;
  fault?: Error;
}

/** What is behind it when an ending is decided. */
export interface Progress {
  /** What the parts that the platform took are known by. */
  ids: readonly (string | null)[];
  at: Date;
  /** Milliseconds that word of an unknown outcome is waited for. */
  unknownFor: number;
}

type Part<O extends SendOutcome["outcome"]> = Extract<SendOutcome, { outcome: O }>;

/** So often is tried what we cannot even build. */
const MOST_SPOILED = 5;

export function accepted(row: ClaimedSend, progress: Progress): SendEnding {
  const { ids, at } = progress;
  // Only the chat platform tells when it has sent what it took.
  const words = row.platform === "chatapp" ? ["accepted"] : ["accepted", "sent"];
  const told = { ...row, platform_message_id: ids[0] ?? null };
  return {
    finish: {
      ...behind(progress),
      outcome: "accepted",
      steps: words.map((status) => stepOf(status, at)),
      attempt: 1,
    },
    events: [
      sendResult(told, "accepted"),
      ...(words.includes("sent") ? [messageStatus(told, "sent", { at })] : []),
    ],
  };
}

export function refused(row: ClaimedSend, progress: Progress, error: MessageError): SendEnding {
  const told = { ...row, platform_message_id: progress.ids[0] ?? null };
  const { at } = progress;
  return {
    finish: {
      ...behind(progress),
      outcome: "refused",
      steps: [stepOf("failed", at)],
      attempt: 1,
      error: JSON.stringify(error),
    },
    events: [sendResult(told, "rejected", error), messageStatus(told, "failed", { at, error })],
    error,
  };
}

/** Nothing was sent of it, or of its next part. */
export function again(row: ClaimedSend, progress: Progress, retry: Part<"retry">): SendEnding {
  const { error: said, wait = 0, pair } = retry;
  // Not asked at all: we have been told before to stay away.
  const isHeld = said === undefined && wait > 0;
  const delay = isHeld ? wait : Math.max(wait, (pair ? nextToPair : nextSend)(row.attempts + 1));
  const error = said && toMessageError(said);
  return {
    finish: {
      ...back(row, progress, delay),
      attempt: isHeld ? 0 : 1,
      error: error ? JSON.stringify(error) : null,
    },
    events: [],
    ...(error ? { error } : {}),
  };
}

/** As if nothing had been. */
export const untried = (row: ClaimedSend, progress: Progress): SendEnding => ({
  finish: back(row, progress, 0),
  events: [],
});

export const unknown = (row: ClaimedSend, progress: Progress): SendEnding => ({
  finish: {
    ...behind(progress),
    outcome: "unknown",
    steps: [stepOf("unknown", progress.at)],
    attempt: 1,
    delay_ms: progress.unknownFor,
  },
  events: [sendResult(row, "unknown")],
});

export function spoiled(row: ClaimedSend, progress: Progress, fault: Error): SendEnding {
  const error = JSON.stringify(NOT_BUILT);
  // What was tried in vain for other reasons before may get better.
  const isHopeless = row.attempts + 1 >= MOST_SPOILED && row.last_error === error;
  if (isHopeless) return { ...refused(row, progress, NOT_BUILT), fault };
  const finish = { ...back(row, progress, nextSend(row.attempts + 1)), attempt: 1, error };
  return { finish, events: [], error: NOT_BUILT, fault };
}

const stepOf = (status: string, at: Date) => ({ status, at: at.toISOString() });

const behind = ({ ids }: Progress) => ({
  platform_message_id: ids[0] ?? null,
  caption_message_id: ids[1] ?? null,
  parts_sent: ids.length,
  error: null,
  delay_ms: null,
});

/** It is due again, but not after its time is over. */
const back = ({ expires_at }: ClaimedSend, progress: Progress, delay: number) => ({
  ...behind(progress),
  outcome: "waiting" as const,
  steps: [],
  attempt: 0,
  delay_ms: Math.min(delay, Math.max(0, expires_at.getTime() - Date.now())),
});

/** The number stands in front of the platform's sentence, too. */
const sentenceOf = ({ message }: PlatformError) => message.replace(/^\(#\d+\) /, "");

export const toMessageError = (error: PlatformError): MessageError => ({
  code: error.code,
  title: error.userTitle ?? sentenceOf(error),
  message: error.message,
  details: error.details ?? error.userMessage ?? null,
});
