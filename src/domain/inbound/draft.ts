import type { Reading } from "../../platforms/webhooks/reading.ts";
import type { EventDraft } from "../events/record-events.ts";

/** An event draft for one owner, and the reading that it was made from. */
export interface InboundDraft extends EventDraft {
  reading: Reading;
  /** Index of its webhook among those that are received together. */
  webhook: number;
}

/** What became of a draft. */
export interface DraftOutcome {
  webhook: number;
  /** Undefined when the event was recorded before. */
  eventId: string | undefined;
  messageId: string | undefined;
}

export const toOutcomes = (
  drafts: readonly InboundDraft[],
  eventIds: readonly (string | undefined)[],
): DraftOutcome[] =>
  drafts.map(({ webhook, messageId }, place) => ({
    webhook,
    eventId: eventIds[place],
    messageId: messageId ?? undefined,
  }));
