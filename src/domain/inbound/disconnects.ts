import type { Reading } from "../../platforms/webhooks/reading.ts";
import { type EventNotifier, notifyAfterCommit } from "../../queue/wake-ups.ts";
import { DAY, MINUTE } from "../../runtime/durations.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { disconnectByPlatform } from "../channels/channels.ts";
import { type EventDraft, isRecorded, recordEvents } from "../events/record-events.ts";
import { type DraftOutcome, type InboundDraft, toOutcomes } from "./draft.ts";

/**
 * Disconnects the channels whose connection the platform has ended, and records the events in the same transaction.
 * Records channel.disconnected only if a channel was disconnected.
 */
export const recordAndDisconnect = (
  parts: { db: Database; notifier: EventNotifier },
  drafts: readonly InboundDraft[],
): Promise<DraftOutcome[]> =>
  notifyAfterCommit(parts, async (tx, deferredNotifier) => {
    const events: EventDraft[] = [];
    for (const draft of drafts)
      events.push(
        (await disconnectIfEnded(tx, draft))
          ? { ...draft, type: "channel.disconnected", data: DISCONNECTED_DATA }
          : draft,
      );
    return toOutcomes(drafts, await recordEvents(tx, events, deferredNotifier));
  });

const DISCONNECTED_DATA = { reason: "platform" };

/** Skips repeated updates: they must not disconnect a channel that was connected since. */
async function disconnectIfEnded(tx: Queryable, { clientId, reading }: InboundDraft): Promise<boolean> {
  if (!reading.endsConnection || (await isRecorded(tx, clientId, reading.dedupKey))) return false;
  return disconnectByPlatform(tx, clientId, { wabaId: reading.asset.id, at: disconnectTimeOf(reading) });
}

/** The platform repeats webhooks for seven days, so an older time is wrong. */
const MAX_UPDATE_AGE_MS = 8 * DAY;
/** Assumed maximum difference between the platform's clock and ours. */
const MAX_CLOCK_SKEW_MS = 5 * MINUTE;

/** Only channels granted by this time are disconnected. */
function disconnectTimeOf({ occurredAt }: Reading): Date {
  const [now, reportedAt] = [Date.now(), occurredAt.getTime()];
  return new Date(reportedAt < now - MAX_UPDATE_AGE_MS ? now : reportedAt + MAX_CLOCK_SKEW_MS);
}
