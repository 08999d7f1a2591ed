import type { Account } from "./accounts.ts";
import { newMid } from "./messages.ts";

type EventContent = Record<string, unknown>;
type EventFactory = (given: EventContent) => object;

/** Builds a message from the defaults and the given content; `mid` is generated unless given. */
function messageEvent(defaults: EventContent): EventFactory {
  return (given) => ({ message: { mid: newMid(), ...defaults, ...given } });
}

/** Builds a message with an attachment from `{ url }`; other given fields are added to the message. */
function attachmentEvent(type: string, file: string): EventFactory {
  return ({ url, ...rest }) => {
    const payload = { url: url ?? `https://example.com/${file}` };
    return { message: { mid: newMid(), attachments: [{ type, payload }], ...rest } };
  };
}

const SHARED_EVENTS: Readonly<Record<string, EventFactory>> = {
  text: messageEvent({ text: "Hello" }),
  quick_reply: messageEvent({ text: "Yes", quick_reply: { payload: "YES" } }),
  image: attachmentEvent("image", "picture.png"),
  video: attachmentEvent("video", "film.mp4"),
  audio: attachmentEvent("audio", "sound.mp4"),
  postback: (given) => ({
    postback: { mid: newMid(), title: "Get started", payload: "GET_STARTED", ...given },
  }),
  reaction: (given) => ({
    reaction: { mid: newMid(), action: "react", reaction: "love", emoji: "❤", ...given },
  }),
};

const SHARED_FIELDS = {
  message: "messages",
  postback: "messaging_postbacks",
  reaction: "message_reactions",
};

/** The subscription field of an event, by the event's key. */
export const EVENT_FIELDS: Readonly<Record<Account["platform"], Readonly<Record<string, string>>>> = {
  messenger: { ...SHARED_FIELDS, read: "message_reads" },
  instagram: { ...SHARED_FIELDS, read: "messaging_seen" },
};

/** Inbound events of a conversation. Given content goes under `message`, `postback`, `reaction` or `read`. */
export const EVENTS: Readonly<Record<Account["platform"], Readonly<Record<string, EventFactory>>>> = {
  messenger: {
    ...SHARED_EVENTS,
    document: attachmentEvent("file", "order.txt"),
    file: attachmentEvent("file", "order.txt"),
    read: (given) => ({ read: { watermark: Date.now(), ...given } }),
  },
  instagram: {
    ...SHARED_EVENTS,
    story_reply: messageEvent({
      text: "Nice",
      reply_to: { story: { id: "17900000000000001", url: "https://example.com/story.jpg" } },
    }),
    unsend: messageEvent({ is_deleted: true }),
    read: (given) => ({ read: { mid: newMid(), ...given } }),
  },
};
