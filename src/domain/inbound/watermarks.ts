import type { Watermark } from "../../platforms/webhooks/statuses.ts";
import type { QueueNotifier } from "../../queue/queue-notifier.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { findReached, type ReachedMessage, type WatermarkOf } from "../../store/messages/watermarks.ts";
import { recordEvents } from "../events/record-events.ts";
import type { Draft } from "./draft.ts";
import { applySaid, ofMessage, type Said } from "./statuses.ts";

/** What became of the watermarks in a webhook. */
export interface Marked {
  recorded: number;
  duplicate: number;
  /** Those that are about no message of ours. */
  silent: number;
}

/** An event for each of the messages that it is about. */
interface MarkDraft extends Draft {
  reading: Draft["reading"] & { watermark: Watermark };
}

export const isMark = (draft: Draft): draft is MarkDraft => draft.reading.watermark !== undefined;

/** A watermark, and one of the messages that it is about. */
interface Reached {
  draft: MarkDraft;
  message: ReachedMessage;
}

/**
 * Moves every message that a watermark is about, and tells of each as if the platform had named it. The two are done as one,
 * for a message that has moved is not found again.
 */
export async function applyWatermarks(
  db: Database,
  drafts: readonly MarkDraft[],
  bell: QueueNotifier,
): Promise<Marked> {
  const marks = drafts.filter(({ reading }) => isPlatformId(reading.watermark.person));
  const found = await findReached(db, marks.map(toMark));
  const reached = found.map((message): Reached => ({ draft: marks[message.place] as MarkDraft, message }));
  const told = reached.length > 0 ? await db.transaction((tx) => moveAndTell(tx, reached, bell)) : NOTHING;
  const speaking = new Set(reached.map(({ draft }) => draft));
  return { ...told, silent: drafts.length - speaking.size };
}

const NOTHING = { recorded: 0, duplicate: 0 };

function toMark({ clientId, channelId, reading }: MarkDraft): WatermarkOf {
  const { person: recipient, word, until } = reading.watermark;
  return { clientId, channelId: channelId ?? "", recipient, word, until };
}

async function moveAndTell(tx: Queryable, reached: readonly Reached[], bell: QueueNotifier) {
  const touched = await applySaid(tx, reached.map(toSaid));
  const drafts = reached.flatMap(({ draft, message }, place) => {
    const one = touched[place];
    return one?.moved ? [ofMessage(naming(draft, message), one)] : [];
  });
  const recorded = await recordEvents(tx, drafts, bell);
  return { recorded: recorded.length, duplicate: drafts.length - recorded.length };
}

const toSaid = ({ draft: { clientId, reading }, message }: Reached): Said => ({
  clientId,
  platformMessageId: message.platform_message_id,
  callback: message.id,
  word: reading.watermark.word,
  at: reading.occurredAt,
});

/** The draft as it would be, had the platform named the message. */
function naming(draft: MarkDraft, { id, platform_message_id }: ReachedMessage): Draft {
  const { word } = draft.reading.watermark;
  const fields = { ...draft.reading.fields, platform_message_id };
  const reading = { ...draft.reading, fields };
  return { ...draft, reading, knownBy: `status ${platform_message_id ?? id} ${word}` };
}
