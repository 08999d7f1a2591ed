import type { MessageStatus } from "../../platforms/webhooks/statuses.ts";
import { isPrefixedId } from "../../runtime/ids.ts";
import type { Queryable } from "../../store/database/database.ts";
import {
  applyNews,
  findNews,
  type MessageNews,
  type TouchedMessage,
} from "../../store/messages/message-statuses.ts";
import type { Draft } from "./draft.ts";

/** What a message reaches by each of the platform's words; another word says nothing of how far it is. */
const REACHED = {
  sent: "sent",
  delivered: "delivered",
  read: "read",
  played: "read",
  failed: "failed",
} as const;

const isKnownWord = (word: string): word is keyof typeof REACHED => Object.hasOwn(REACHED, word);

/** An id that the platform may have given to a message of ours; asked before a stranger's text reaches the database. */
const isMessageId = (id: string) => /^[\x21-\x7e]{1,512}$/.test(id);

/** One thing that is said of a message. */
export interface Said extends Omit<MessageStatus, "platformMessageId"> {
  clientId: string;
  platformMessageId: string | null;
  at: Date | undefined;
}

/** By what the things that are said of the same message are put together. */
const keyOf = ({ clientId, platformMessageId, callback }: Said) =>
  `${clientId} ${platformMessageId ?? callback}`;

/**
 * Applies all that is said of each message at once, in whatever order it came. Answers which message of ours each thing is
 * about, undefined for none.
 */
export async function applySaid(
  db: Queryable,
  said: readonly Said[],
): Promise<(TouchedMessage | undefined)[]> {
  const news = new Map<string, MessageNews>();
  for (const one of said) news.set(keyOf(one), joined(news.get(keyOf(one)), one));
  const touched = await applyAll(db, [...news.values()]);
  return said.map((one) => touched.get(news.get(keyOf(one)) as MessageNews));
}

function joined(before: MessageNews | undefined, one: Said): MessageNews {
  const { clientId, platformMessageId, callback, word, error } = one;
  const id = callback !== undefined && isPrefixedId(callback, "msg") ? callback : null;
  const news = before ?? { client_id: clientId, id, platform_message_id: platformMessageId };
  news.id ??= id;
  if (!isKnownWord(word)) return news;
  const [step, at] = [REACHED[word], (one.at ?? new Date()).toISOString()];
  const known = news[step];
  news[step] = known !== undefined && known < at ? known : at;
  if (step === "failed") news.error ??= error ? JSON.stringify(error) : null;
  return news;
}

/** By our own id, which the chat platform gives back; what is left by the platform's, which may lie in any partition. */
async function applyAll(
  db: Queryable,
  news: readonly MessageNews[],
): Promise<Map<MessageNews, TouchedMessage>> {
  const named = await applyNews(
    db,
    news.filter(({ id }) => id !== null),
  );
  const rest = news.filter((one) => !named.has(one));
  const known = await findNews(db, rest);
  return new Map([...named, ...(await applyNews(db, known))]);
}

/** Moves the messages that the statuses are about, and tells of each by its own id. To do it again changes nothing. */
export async function applyStatuses(db: Queryable, drafts: readonly Draft[]): Promise<Draft[]> {
  const said = new Map(drafts.flatMap(saidBy));
  const touched = await applySaid(db, [...said.values()]);
  const messages = new Map([...said.keys()].map((draft, place) => [draft, touched[place]]));
  return drafts.map((draft) => ofMessage(draft, messages.get(draft)));
}

function saidBy(draft: Draft): [Draft, Said][] {
  const { clientId, reading } = draft;
  const { status, occurredAt: at } = reading;
  return status && isMessageId(status.platformMessageId) ? [[draft, { clientId, at, ...status }]] : [];
}

/** What the client calls the message is told rather than what it calls the channel. */
export const ofMessage = (draft: Draft, message: TouchedMessage | undefined): Draft =>
  message
    ? {
        ...draft,
        messageId: message.id,
        externalRef: message.external_ref ?? draft.externalRef ?? null,
        data: { ...draft.reading.fields, message_id: message.id },
      }
    : draft;
