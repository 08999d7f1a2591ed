import type { MessageStatus, Watermark } from "../../platforms/webhooks/updates.ts";
import { notifyAfterCommit } from "../../queue/wake-ups.ts";
import { isPlatformId, isPrefixedId } from "../../runtime/ids.ts";
import type { Queryable } from "../../store/database/database.ts";
import {
  type ChannelWatermark,
  findReachedMessages,
  type MessageStatusUpdate,
  type ReachedMessage,
  resolveMessageIds,
  type TouchedMessage,
  updateMessageStatuses,
} from "../../store/messages/message-statuses.ts";
import {
  type DraftOutcome,
  type InboundDraft,
  type RecordParts,
  recordInbound,
} from "../events/record-events.ts";
import { toStoredError } from "../messages/message-errors.ts";

/** Moves the messages that the statuses are about; returns their drafts with the ids of the messages. Idempotent. */
export async function applyStatuses(
  db: Queryable,
  drafts: readonly InboundDraft[],
): Promise<Map<InboundDraft, InboundDraft>> {
  const updateByDraft = new Map(drafts.flatMap(toStatusEntries));
  if (updateByDraft.size === 0) return new Map();
  const touched = await applyStatusUpdates(db, [...updateByDraft.values()]);
  return new Map(
    [...updateByDraft.keys()].map((draft, index) => [draft, withMessage(draft, touched[index])]),
  );
}

function toStatusEntries(draft: InboundDraft): [InboundDraft, StatusUpdate][] {
  const { clientId, reading } = draft;
  const { status, occurredAt: at } = reading;
  return status && isPlatformMessageId(status.platformMessageId)
    ? [[draft, { clientId, at, ...status }]]
    : [];
}

/** True for an id that a platform may have given to a message. Checked before untrusted text reaches the database. */
const isPlatformMessageId = (id: string) => /^[\x21-\x7e]{1,512}$/.test(id);

const withMessage = (draft: InboundDraft, message: TouchedMessage | undefined): InboundDraft =>
  message
    ? {
        ...draft,
        messageId: message.id,
        externalRef: message.external_ref,
        data: { ...draft.reading.fields, message_id: message.id },
      }
    : draft;

interface WatermarkResult {
  /** One for each message that moved. */
  outcomes: DraftOutcome[];
  /** Watermarks that cover no message of ours. */
  ignored: InboundDraft[];
}

/** Becomes an event for each message that the watermark covers. */
interface WatermarkDraft extends InboundDraft {
  reading: InboundDraft["reading"] & { watermark: Watermark };
}

export const isWatermarkDraft = (draft: InboundDraft): draft is WatermarkDraft =>
  draft.reading.watermark !== undefined;

/**
 * Moves every message that a watermark covers and records an event for each, as if the platform had named it.
 * Both happen in one transaction, because a message that has moved is not found again.
 */
export async function applyWatermarks(
  parts: RecordParts,
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
    ignored: drafts.filter((draft) => !matchedDrafts.has(draft)),
  };
}

/** A watermark and one of the messages that it covers. */
interface WatermarkMatch {
  draft: WatermarkDraft;
  message: ReachedMessage;
}

function toWatermark({ clientId, channelId, reading }: WatermarkDraft): ChannelWatermark {
  const { person: recipient, word, until } = reading.watermark;
  return { clientId, channelId: channelId ?? "", recipient, word, until };
}

const applyAndRecord = (parts: RecordParts, matches: readonly WatermarkMatch[]): Promise<DraftOutcome[]> =>
  notifyAfterCommit(parts, async (tx, deferredNotifier) => {
    const drafts = await moveMessages(tx, matches);
    return recordInbound(tx, drafts, deferredNotifier);
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

/** A status reported for a message. */
interface StatusUpdate extends Omit<MessageStatus, "platformMessageId"> {
  clientId: string;
  platformMessageId: string | null;
  at: Date;
}

/** Groups the statuses of one message. */
const keyOf = ({ clientId, platformMessageId, callback }: StatusUpdate) =>
  `${clientId} ${platformMessageId ?? callback}`;

/**
 * Merges the statuses of each message, in any order, and applies them. Returns our message for each update,
 * undefined for none. Watermarks call it in the transaction that records their events.
 */
async function applyStatusUpdates(
  db: Queryable,
  updates: readonly StatusUpdate[],
): Promise<(TouchedMessage | undefined)[]> {
  const updateByMessage = new Map<string, MessageStatusUpdate>();
  for (const update of updates)
    updateByMessage.set(
      keyOf(update),
      mergeUpdates(updateByMessage.get(keyOf(update)), toMessageUpdate(update)),
    );
  const touched = await applyMerged(db, [...updateByMessage.values()]);
  return updates.map((update) => touched.get(updateByMessage.get(keyOf(update)) as MessageStatusUpdate));
}

/** Message status by the platform's term; other terms do not move a message. */
const STATUS_BY_WORD = {
  sent: "sent",
  delivered: "delivered",
  read: "read",
  played: "read",
  failed: "failed",
} as const;

const isKnownWord = (word: string): word is keyof typeof STATUS_BY_WORD =>
  Object.hasOwn(STATUS_BY_WORD, word);

function toMessageUpdate(update: StatusUpdate): MessageStatusUpdate {
  const { clientId, platformMessageId, callback, word, error, at } = update;
  const id = callback !== undefined && isPrefixedId(callback, "msg") ? callback : null;
  const message = { client_id: clientId, id, platform_message_id: platformMessageId };
  if (!isKnownWord(word)) return message;
  const step = STATUS_BY_WORD[word];
  const reason = step === "failed" && error ? toStoredError(error) : {};
  return { ...message, [step]: at.toISOString(), ...reason };
}

const STEPS = ["sent", "delivered", "read", "failed"] as const;

/** Keeps the earliest time of each step and the first error. */
function mergeUpdates(
  before: MessageStatusUpdate | undefined,
  update: MessageStatusUpdate,
): MessageStatusUpdate {
  if (!before) return update;
  const { error = null, error_code = null } = before.error ? before : update;
  const merged = { ...before, id: before.id ?? update.id, error, error_code };
  for (const step of STEPS) {
    const [earliest] = [before[step], update[step]].filter((at) => at !== undefined).sort();
    if (earliest !== undefined) merged[step] = earliest;
  }
  return merged;
}

type TouchedMessages = Map<MessageStatusUpdate, TouchedMessage>;

/**
 * Applies updates by our own id, which the chat platform returns, the rest by the platform's id, which may be
 * in any partition, and what is left by our own id although the platform's id differs.
 */
async function applyMerged(db: Queryable, updates: readonly MessageStatusUpdate[]): Promise<TouchedMessages> {
  const appliedById = await updateMessageStatuses(db, firstPerMessage(updates));
  const rest = updates.filter((update) => !appliedById.has(update));
  const resolved = await resolveMessageIds(db, rest);
  const applied = await updateMessageStatuses(db, [...resolved.values()]);
  const left = rest.filter((update) => update.id !== null && !resolved.has(update));
  const byPlatformId = [...resolved].flatMap(([update, found]) => touchedEntry(update, applied.get(found)));
  return new Map([...appliedById, ...byPlatformId, ...(await applyWithOtherIds(db, left))]);
}

const messageKey = ({ client_id, id }: MessageStatusUpdate) => `${client_id} ${id}`;

/** The first update of each named message: one statement cannot apply two updates to a row. */
function firstPerMessage(updates: readonly MessageStatusUpdate[]): MessageStatusUpdate[] {
  const named = updates.filter(({ id }) => id !== null).reverse();
  return [...new Map(named.map((update) => [messageKey(update), update])).values()];
}

const touchedEntry = (
  update: MessageStatusUpdate,
  message: TouchedMessage | undefined,
): [MessageStatusUpdate, TouchedMessage][] => (message ? [[update, message]] : []);

/** Merges first: several updates may name the same message with different platform ids. */
async function applyWithOtherIds(
  db: Queryable,
  updates: readonly MessageStatusUpdate[],
): Promise<TouchedMessages> {
  const merged = new Map<string, MessageStatusUpdate>();
  for (const update of updates)
    merged.set(messageKey(update), mergeUpdates(merged.get(messageKey(update)), update));
  const touched = await updateMessageStatuses(db, [...merged.values()], { anyPlatformId: true });
  const messageOf = (update: MessageStatusUpdate) =>
    touched.get(merged.get(messageKey(update)) as MessageStatusUpdate);
  return new Map(updates.flatMap((update) => touchedEntry(update, messageOf(update))));
}
