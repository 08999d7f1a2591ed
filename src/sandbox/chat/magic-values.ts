import type { ChatErrorCode } from "./chat-error.ts";

/** The outcome that the last four characters of a recipient's number or scoped id cause. */
export interface MagicOutcome {
  /** Error of the first attempt from each number; later attempts are accepted. */
  firstTryError?: ChatErrorCode;
  /** Error of every attempt. */
  everyTryError?: ChatErrorCode;
  /** The message is accepted, and a webhook reports this failure. */
  webhookError?: ChatErrorCode;
  /** A status that is never sent. */
  skippedStatus?: "delivered";
}

const RECIPIENT_SUFFIXES: Readonly<Record<string, MagicOutcome>> = {
  "0000": { webhookError: 131026 },
  "0049": { webhookError: 131049 },
  "0131": { firstTryError: 131056 },
  "0202": { skippedStatus: "delivered" },
  "0429": { firstTryError: 130429 },
  "0470": { everyTryError: 131047 },
  "0500": { firstTryError: 131000 },
};

export const magicOutcomeOf = (recipient: string): MagicOutcome =>
  RECIPIENT_SUFFIXES[recipient.slice(-4)] ?? {};

/** Review results by the beginning of a template's name. All other names are approved. */
const NAME_PREFIXES = {
  reject_: "rejected",
  pause_: "paused",
  recategorise_: "recategorised",
  instant_: "instant",
} as const;

export type ReviewResult = (typeof NAME_PREFIXES)[keyof typeof NAME_PREFIXES] | "approved";

export const reviewResultOf = (name: string): ReviewResult =>
  Object.entries(NAME_PREFIXES).find(([prefix]) => name.startsWith(prefix))?.[1] ?? "approved";
