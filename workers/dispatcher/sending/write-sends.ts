import { type EventDraft, recordEvents } from "../../../src/domain/events/record-events.ts";
import { heldBack, type QueueNotifier } from "../../../src/queue/queue-notifier.ts";
import type { Streams } from "../../../src/queue/streams.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { finishSends, type SendFinish } from "../../../src/store/messages/finish-sends.ts";
import { releaseAfter } from "../../../src/store/messages/send-order.ts";

/** How it goes on with a message, and what its client is told of it. */
export interface EndedSend extends SendFinish {
  events: readonly EventDraft[];
}

interface FinishParts {
  db: Database;
  /** Of the events. */
  doorbell: QueueNotifier;
  streams: Streams;
}

/** Writes down how it goes on with messages and what their clients are told, all or nothing; answers whose lease still held. */
export async function writeSends(
  { db, doorbell, streams }: FinishParts,
  ended: readonly EndedSend[],
): Promise<string[]> {
  const bell = heldBack(doorbell);
  const finished = await db.transaction(async (tx) => {
    const rows = await finishSends(
      tx,
      ended.map(({ events, ...finish }) => finish),
    );
    const held = new Set(rows.map(({ id }) => id));
    await recordEvents(
      tx,
      ended.flatMap(({ id, events }) => (held.has(id) ? events : [])),
      bell,
    );
    return rows;
  });
  bell.release();
  // Whoever has waited for one of these. What fails of it is left to the sweeper.
  await releaseAfter(db, finished)
    .then((next) => (next.length > 0 ? streams.add("outbound", next) : undefined))
    .catch(() => {});
  return finished.map(({ id }) => id);
}

/** Without what the platform calls it: all else that others have said is JSON within JSON, which every database can keep. */
export function bareSend(ended: EndedSend): EndedSend | undefined {
  if (ended.platform_message_id === null && ended.caption_message_id === null) return undefined;
  return { ...ended, platform_message_id: null, caption_message_id: null };
}
