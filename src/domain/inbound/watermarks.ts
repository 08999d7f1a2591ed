import type { Watermark } from "../../platforms/webhooks/statuses.ts";
import { type EventNotifier, notifyAfterCommit } from "../../queue/wake-ups.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import {
  type ChannelWatermark,
  findReachedMessages,
  type ReachedMessage,
} from "../../store/messages/watermarks.ts";
import { recordEvents } from "../events/record-events.ts";
import { type DraftOutcome, type InboundDraft, toOutcomes } from "./draft.ts";
import { applyStatusUpdates, type StatusUpdate, withMessage } from "./statuses.ts";

interface WatermarkResult {
  /** One for each message that moved. */
  outcomes: DraftOutcome[];
  /** Watermarks that cover no message of ours. */
  silent: InboundDraft[];
}

/** Becomes an event for each message that the watermark covers. */
interface WatermarkDraft extends InboundDraft {
  reading: InboundDraft["reading"] & { watermark: Watermark };
}

export const isWatermarkDraft = (draft: InboundDraft): draft is WatermarkDraft =>
  draft.reading.watermark !== undefined;

interface WatermarkParts {
  db: Database;
  notifier: EventNotifier;
}

/** A watermark and one of the messages that it covers. */
interface WatermarkMatch {
  draft: WatermarkDraft;
  message: ReachedMessage;
}

/**
 * Moves every message that a watermark covers and records an event for each, as if the platform had named it.
 * Both happen in one transaction, because a message that has moved is not found again.
 */
export async function applyWatermarks(
  parts: WatermarkParts,
  drafts: readonly WatermarkDraft[],
): Promise<WatermarkResult> {
  const watermarkDrafts = drafts.filter(({ reading }) => isPlatformId(reading.watermark.person));
  const found = await findReachedMessages(parts.db, watermarkDrafts.map(toWatermark));
  const matches = found.map(
    (message): WatermarkMatch => ({ draft: watermarkDrafts[message.place] as WatermarkDraft, message }),
  );
  const matchedDrafts = new Set<InboundDraft>(matches.map(({ draft }) => draft));
  return {
    outcomes: matches.length > 0 ? await applyAndRecord(parts, matches) : [],
    silent: drafts.filter((draft) => !matchedDrafts.has(draft)),
  };
}

function toWatermark({ clientId, channelId, reading }: WatermarkDraft): ChannelWatermark {
  const { person: recipient, word, until } = reading.watermark;
  return { clientId, channelId: channelId ?? "", recipient, word, until };
}

const applyAndRecord = (parts: WatermarkParts, matches: readonly WatermarkMatch[]): Promise<DraftOutcome[]> =>
  notifyAfterCommit(parts, async (tx, deferredNotifier) => {
    const drafts = await moveMessages(tx, matches);
    return toOutcomes(drafts, await recordEvents(tx, drafts, deferredNotifier));
  });

/** Returns a draft for each message that moved. */
async function moveMessages(tx: Queryable, matches: readonly WatermarkMatch[]): Promise<InboundDraft[]> {
  const touched = await applyStatusUpdates(tx, matches.map(toStatusUpdate));
  return matches.flatMap(({ draft, message }, index) => {
    const touchedMessage = touched[index];
    return touchedMessage?.moved ? [withMessage(withMessageIds(draft, message), touchedMessage)] : [];
  });
}

const toStatusUpdate = ({ draft: { clientId, reading }, message }: WatermarkMatch): StatusUpdate => ({
  clientId,
  platformMessageId: message.platform_message_id,
  callback: message.id,
  word: reading.watermark.word,
  at: reading.occurredAt,
});

/** Returns the draft as if the platform had named the message. */
function withMessageIds(draft: WatermarkDraft, { id, platform_message_id }: ReachedMessage): InboundDraft {
  const { word } = draft.reading.watermark;
  const fields = { ...draft.reading.fields, platform_message_id };
  const reading = { ...draft.reading, fields };
  return { ...draft, reading, dedupKey: `status ${platform_message_id ?? id} ${word}` };
}
