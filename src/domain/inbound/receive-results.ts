import type { Asset } from "../../platforms/webhooks/reading.ts";
import type { DraftOutcome } from "./draft.ts";

/** Counts of a webhook's updates. */
export interface ReceiveCounts {
  updates: number;
  /** Events; an update of a whole business is one event for each of its clients. */
  recorded: number;
  duplicate: number;
  /** Updates of assets that no client has, or has any more. */
  foreign: number;
  /** Updates that no event is recorded for. */
  silent: number;
}

/** What became of one webhook, also when it was received together with others. */
export interface ReceiveResult {
  counts: ReceiveCounts;
  /** Ids of the recorded events and of the messages that the webhook is about, for the log. */
  eventIds: string[];
  messageIds: Set<string>;
  /** Assets of the foreign updates. */
  unknownAssets: Asset[];
}

export const newResult = (updates: number): ReceiveResult => ({
  counts: { updates, recorded: 0, duplicate: 0, foreign: 0, silent: 0 },
  eventIds: [],
  messageIds: new Set(),
  unknownAssets: [],
});

/** Adds each outcome to the result of its webhook. */
export function addOutcomes(results: readonly ReceiveResult[], outcomes: readonly DraftOutcome[]): void {
  for (const { webhook, eventId, messageId } of outcomes) {
    const { counts, eventIds, messageIds } = results[webhook] as ReceiveResult;
    if (eventId === undefined) counts.duplicate += 1;
    else {
      counts.recorded += 1;
      eventIds.push(eventId);
    }
    if (messageId !== undefined) messageIds.add(messageId);
  }
}
