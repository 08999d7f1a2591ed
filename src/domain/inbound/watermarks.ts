import type { Watermark } from "../../platforms/webhooks/statuses.ts";
import { notifyAfterCommit, type QueueNotifier } from "../../queue/queue-notifier.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import {
  type ChannelWatermark,
  findReachedMessages,
  type ReachedMessage,
} from "../../store/messages/watermarks.ts";
import { recordUnblockedEvents } from "../events/record-events.ts";
import type { InboundDraft } from "./draft.ts";
import { applyStatusUpdates, type StatusUpdate, withMessage } from "./statuses.ts";

/** Counts of a webhook's watermarks. */
interface WatermarkCounts {
  recorded: number;
  duplicate: number;
  /** Watermarks that cover no message of ours. */
  silent: number;
}

interface WatermarkResult {
  counts: WatermarkCounts;
  /** Ids of the recorded events and of the messages that moved. */
  eventIds: string[];
  messageIds: string[];
}

/** Becomes an event for each message that the watermark covers. */
interface WatermarkDraft extends InboundDraft {
  reading: InboundDraft["reading"] & { watermark: Watermark };
}

export const isWatermarkDraft = (draft: InboundDraft): draft is WatermarkDraft =>
  draft.reading.watermark !== undefined;

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
  parts: { db: Database; notifier: QueueNotifier },
  drafts: readonly WatermarkDraft[],
): Promise<WatermarkResult> {
  const watermarkDrafts = drafts.filter(({ reading }) => isPlatformId(reading.watermark.person));
  const found = await findReachedMessages(parts.db, watermarkDrafts.map(toWatermark));
  const matches = found.map(
    (message): WatermarkMatch => ({ draft: watermarkDrafts[message.place] as WatermarkDraft, message }),
  );
  const { eventIds, messageIds } =
    matches.length > 0
      ? await notifyAfterCommit(parts, (tx, deferredNotifier) =>
          applyAndRecord(tx, matches, deferredNotifier),
        )
      : NO_EVENTS;
  const matchedDrafts = new Set(matches.map(({ draft }) => draft));
  const recorded = eventIds.length;
  const duplicate = messageIds.length - recorded;
  return {
    counts: { recorded, duplicate, silent: drafts.length - matchedDrafts.size },
    eventIds,
    messageIds,
  };
}

const NO_EVENTS = { eventIds: [], messageIds: [] };

function toWatermark({ clientId, channelId, reading }: WatermarkDraft): ChannelWatermark {
  const { person: recipient, word, until } = reading.watermark;
  return { clientId, channelId: channelId ?? "", recipient, word, until };
}

async function applyAndRecord(tx: Queryable, matches: readonly WatermarkMatch[], notifier: QueueNotifier) {
  const touched = await applyStatusUpdates(tx, matches.map(toStatusUpdate));
  const moved = matches.flatMap(({ draft, message }, index) => {
    const touchedMessage = touched[index];
    return touchedMessage?.moved ? [{ draft: withMessageIds(draft, message), touchedMessage }] : [];
  });
  const drafts = moved.map(({ draft, touchedMessage }) => withMessage(draft, touchedMessage));
  const eventIds = await recordUnblockedEvents(tx, drafts, notifier);
  return { eventIds, messageIds: moved.map(({ touchedMessage }) => touchedMessage.id) };
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
