import { type EventDraft, recordEvents } from "../../../src/domain/events/record-events.ts";
import type { Streams } from "../../../src/queue/streams.ts";
import { type EventNotifier, notifyAfterCommit } from "../../../src/queue/wake-ups.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { finishSends, type SendFinish } from "../../../src/store/messages/finish-sends.ts";
import { releaseNextSends } from "../../../src/store/messages/send-order.ts";

/** The outcome of a send, and the events for its client. */
export interface FinishedSend extends SendFinish {
  events: readonly EventDraft[];
}

interface WriteSendsParts {
  db: Database;
  /** Notifies of the events. */
  notifier: EventNotifier;
  streams: Streams;
}

/** Writes outcomes of sends whose lease still holds, and their events, in one transaction. Returns the ids of these sends. */
export async function writeSends(
  { db, notifier, streams }: WriteSendsParts,
  sends: readonly FinishedSend[],
): Promise<string[]> {
  const finished = await notifyAfterCommit({ db, notifier }, async (tx, deferredNotifier) => {
    const leased = await finishSends(
      tx,
      sends.map(({ events, ...finish }) => finish),
    );
    const leasedIds = new Set(leased.map(({ id }) => id));
    await recordEvents(
      tx,
      sends.flatMap(({ id, events }) => (leasedIds.has(id) ? events : [])),
      deferredNotifier,
    );
    return leased;
  });
  // Release the sends that waited for these. When that fails, the sweep does it.
  await releaseNextSends(db, finished)
    .then((next) => (next.length > 0 ? streams.add("outbound", next) : undefined))
    .catch(() => {});
  return finished.map(({ id }) => id);
}

/** Drops the platform's ids, the only remote text that Postgres may reject; undefined when there are none. */
export function withoutPlatformIds(send: FinishedSend): FinishedSend | undefined {
  if (send.platform_message_id === null && send.caption_message_id === null) return undefined;
  return { ...send, platform_message_id: null, caption_message_id: null };
}
