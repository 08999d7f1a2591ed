import type { ChatErrorCode } from "./chat-error.ts";

/** What a recipient brings about by how its number (or its scoped id) ends. */
export interface MagicOutcome {
  /** Refused at the first try with each sender, taken afterwards. */
  firstTryError?: ChatErrorCode;
  /** Refused whenever it is tried. */
  everyTryError?: ChatErrorCode;
  /** Taken, and then a webhook tells that it failed. */
  webhookError?: ChatErrorCode;
  /** A status that never comes. */
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

/** What a template's name makes of its review. Any other name is approved. */
const NAME_PREFIXES = {
  reject_: "rejected",
  pause_: "paused",
  recategorise_: "recategorised",
  instant_: "instant",
} as const;

export type ReviewResult = (typeof NAME_PREFIXES)[keyof typeof NAME_PREFIXES] | "approved";

export const reviewResultOf = (name: string): ReviewResult =>
  Object.entries(NAME_PREFIXES).find(([prefix]) => name.startsWith(prefix))?.[1] ?? "approved";
