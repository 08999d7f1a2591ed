import type { Account } from "./accounts.ts";
import { newMid } from "./messages.ts";

type Given = Record<string, unknown>;
type Event = (given: Given) => object;

/** A message with what was given; an id of its own, unless it has one. */
function message(byDefault: Given): Event {
  return (given) => ({ message: { mid: newMid(), ...byDefault, ...given } });
}

/** `{ url }`, and whatever else stands beside the attachment. */
function attachment(type: string, file: string): Event {
  return ({ url, ...rest }) => {
    const payload = { url: url ?? `https://example.com/${file}` };
    return { message: { mid: newMid(), attachments: [{ type, payload }], ...rest } };
  };
}

const SHARED: Readonly<Record<string, Event>> = {
  text: message({ text: "Hello" }),
  quick_reply: message({ text: "Yes", quick_reply: { payload: "YES" } }),
  image: attachment("image", "picture.png"),
  video: attachment("video", "film.mp4"),
  audio: attachment("audio", "sound.mp4"),
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

/** The field of a subscription that an event belongs to, by what stands in it. */
export const EVENT_FIELDS: Readonly<Record<Account["platform"], Readonly<Record<string, string>>>> = {
  messenger: { ...SHARED_FIELDS, read: "message_reads" },
  instagram: { ...SHARED_FIELDS, read: "messaging_seen" },
};

/** What people do in a conversation. The content is what stands under `message`, `postback` or `reaction`. */
export const EVENTS: Readonly<Record<Account["platform"], Readonly<Record<string, Event>>>> = {
  messenger: {
    ...SHARED,
    document: attachment("file", "order.txt"),
    file: attachment("file", "order.txt"),
    read: (given) => ({ read: { watermark: Date.now(), ...given } }),
  },
  instagram: {
    ...SHARED,
    story_reply: message({
      text: "Nice",
      reply_to: { story: { id: "17900000000000001", url: "https://example.com/story.jpg" } },
    }),
    unsend: message({ is_deleted: true }),
    read: (given) => ({ read: { mid: newMid(), ...given } }),
  },
};
