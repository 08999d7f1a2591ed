import { type EventDraft, recordEvents } from "../../../src/domain/events/record-events.ts";
import { notifyAfterCommit, type QueueNotifier } from "../../../src/queue/queue-notifier.ts";
import type { Streams } from "../../../src/queue/streams.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { finishSends, type SendFinish } from "../../../src/store/messages/finish-sends.ts";
import { releaseNextSends } from "../../../src/store/messages/send-order.ts";

/** How it goes on with a message, and what its client is told of it. */
export interface FinishedSend extends SendFinish {
  events: readonly EventDraft[];
}

interface WriteSendsParts {
  db: Database;
  /** Of the events. */
  notifier: QueueNotifier;
  streams: Streams;
}

/** Writes down how it goes on with messages and what their clients are told, all or nothing; answers whose lease still held. */
export async function writeSends(
  { db, notifier, streams }: WriteSendsParts,
  sends: readonly FinishedSend[],
): Promise<string[]> {
  const finished = await notifyAfterCommit({ db, notifier }, async (tx, deferredNotifier) => {
    const rows = await finishSends(
      tx,
      sends.map(({ events, ...finish }) => finish),
    );
    const leasedIds = new Set(rows.map(({ id }) => id));
    await recordEvents(
      tx,
      sends.flatMap(({ id, events }) => (leasedIds.has(id) ? events : [])),
      deferredNotifier,
    );
    return rows;
  });
  // Whoever has waited for one of these. What fails of it is left to the sweeper.
  await releaseNextSends(db, finished)
    .then((next) => (next.length > 0 ? streams.add("outbound", next) : undefined))
    .catch(() => {});
  return finished.map(({ id }) => id);
}

/** Without what the platform calls it: all else that others have said is JSON within JSON, which every database can keep. */
export function withoutPlatformIds(send: FinishedSend): FinishedSend | undefined {
  if (send.platform_message_id === null && send.caption_message_id === null) return undefined;
  return { ...send, platform_message_id: null, caption_message_id: null };
}
