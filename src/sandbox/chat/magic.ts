import type { ChatCode } from "./chat-error.ts";

/** What a recipient brings about by how its number (or its scoped id) ends. */
export interface Fate {
  /** Refused at the first try with each sender, taken afterwards. */
  first?: ChatCode;
  /** Refused whenever it is tried. */
  refused?: ChatCode;
  /** Taken, and then a webhook tells that it failed. */
  fails?: ChatCode;
  /** A status that never comes. */
  skips?: "delivered";
}

const RECIPIENT_ENDINGS: Readonly<Record<string, Fate>> = {
  "0000": { fails: 131026 },
  "0049": { fails: 131049 },
  "0131": { first: 131056 },
  "0202": { skips: "delivered" },
  "0429": { first: 130429 },
  "0470": { refused: 131047 },
  "0500": { first: 131000 },
};

export const fateOf = (recipient: string): Fate => RECIPIENT_ENDINGS[recipient.slice(-4)] ?? {};

/** What a template's name makes of its review. Any other name is approved. */
const NAME_BEGINNINGS = {
  reject_: "rejected",
  pause_: "paused",
  recategorise_: "recategorised",
  instant_: "instant",
} as const;

export type Verdict = (typeof NAME_BEGINNINGS)[keyof typeof NAME_BEGINNINGS] | "approved";

export const verdictOn = (name: string): Verdict =>
  Object.entries(NAME_BEGINNINGS).find(([beginning]) => name.startsWith(beginning))?.[1] ?? "approved";
