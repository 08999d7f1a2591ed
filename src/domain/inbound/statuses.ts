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
  at: Date | undefined;
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
    updateByMessage.set(keyOf(update), mergeUpdate(updateByMessage.get(keyOf(update)), update));
  const touched = await applyMerged(db, [...updateByMessage.values()]);
  return updates.map((update) => touched.get(updateByMessage.get(keyOf(update)) as MessageStatusUpdate));
}

function mergeUpdate(before: MessageStatusUpdate | undefined, update: StatusUpdate): MessageStatusUpdate {
  const { clientId, platformMessageId, callback, word, error } = update;
  const id = callback !== undefined && isPrefixedId(callback, "msg") ? callback : null;
  const merged = before ?? { client_id: clientId, id, platform_message_id: platformMessageId };
  merged.id ??= id;
  if (!isKnownWord(word)) return merged;
  const [step, at] = [STATUS_BY_WORD[word], (update.at ?? new Date()).toISOString()];
  const earliest = merged[step];
  merged[step] = earliest !== undefined && earliest < at ? earliest : at;
  if (step === "failed") merged.error ??= error ? JSON.stringify(error) : null;
  return merged;
}

/**
 * Applies updates by our own id, which the chat platform returns, and the rest by the platform's id, which
 * may be in any partition.
 */
async function applyMerged(
  db: Queryable,
  updates: readonly MessageStatusUpdate[],
): Promise<Map<MessageStatusUpdate, TouchedMessage>> {
  const appliedById = await updateMessageStatuses(
    db,
    updates.filter(({ id }) => id !== null),
  );
  const rest = updates.filter((update) => !appliedById.has(update));
  const found = await resolveMessageIds(db, rest);
  return new Map([...appliedById, ...(await updateMessageStatuses(db, found))]);
}

/** Moves the messages that the statuses are about and adds their ids to the drafts. Idempotent. */
export async function applyStatuses(db: Queryable, drafts: readonly InboundDraft[]): Promise<InboundDraft[]> {
  const updateByDraft = new Map(drafts.flatMap(toStatusEntries));
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

/** The external_ref of the message replaces that of its channel. */
export const withMessage = (draft: InboundDraft, message: TouchedMessage | undefined): InboundDraft =>
  message
    ? {
        ...draft,
        messageId: message.id,
        externalRef: message.external_ref ?? draft.externalRef ?? null,
        data: { ...draft.reading.fields, message_id: message.id },
      }
    : draft;
