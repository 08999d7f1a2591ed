import type { MessageStatus } from "../../platforms/webhooks/statuses.ts";
import { isPrefixedId } from "../../runtime/ids.ts";
import type { Queryable } from "../../store/database/database.ts";
import {
  type MessageStatusUpdate,
  resolveMessageIds,
  type TouchedMessage,
  updateMessageStatuses,
} from "../../store/messages/message-statuses.ts";
import type { InboundDraft } from "./draft.ts";

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

/**
 * True for an id that a platform may have given to a message. Checked before untrusted text reaches the
 * database.
 */
const isPlatformMessageId = (id: string) => /^[\x21-\x7e]{1,512}$/.test(id);

/** A status reported for a message. */
export interface StatusUpdate extends Omit<MessageStatus, "platformMessageId"> {
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
export async function applyStatusUpdates(
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

function toMessageUpdate(update: StatusUpdate): MessageStatusUpdate {
  const { clientId, platformMessageId, callback, word, error, at } = update;
  const id = callback !== undefined && isPrefixedId(callback, "msg") ? callback : null;
  const message = { client_id: clientId, id, platform_message_id: platformMessageId };
  if (!isKnownWord(word)) return message;
  const step = STATUS_BY_WORD[word];
  const reason = step === "failed" ? { error: error ? JSON.stringify(error) : null } : {};
  return { ...message, [step]: at.toISOString(), ...reason };
}

const STEPS = ["sent", "delivered", "read", "failed"] as const;

/** Keeps the earliest time of each step and the first error. */
function mergeUpdates(
  before: MessageStatusUpdate | undefined,
  update: MessageStatusUpdate,
): MessageStatusUpdate {
  if (!before) return update;
  const merged = { ...before, id: before.id ?? update.id, error: before.error ?? update.error ?? null };
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

/** Moves the messages that the statuses are about and adds their ids to the drafts. Idempotent. */
export async function applyStatuses(db: Queryable, drafts: readonly InboundDraft[]): Promise<InboundDraft[]> {
  const updateByDraft = new Map(drafts.flatMap(toStatusEntries));
  if (updateByDraft.size === 0) return [...drafts];
  const touched = await applyStatusUpdates(db, [...updateByDraft.values()]);
  const messages = new Map([...updateByDraft.keys()].map((draft, index) => [draft, touched[index]]));
  return drafts.map((draft) => withMessage(draft, messages.get(draft)));
}

function toStatusEntries(draft: InboundDraft): [InboundDraft, StatusUpdate][] {
  const { clientId, reading } = draft;
  const { status, occurredAt: at } = reading;
  return status && isPlatformMessageId(status.platformMessageId)
    ? [[draft, { clientId, at, ...status }]]
    : [];
}

export const withMessage = (draft: InboundDraft, message: TouchedMessage | undefined): InboundDraft =>
  message
    ? {
        ...draft,
        messageId: message.id,
        externalRef: message.external_ref,
        data: { ...draft.reading.fields, message_id: message.id },
      }
    : draft;
