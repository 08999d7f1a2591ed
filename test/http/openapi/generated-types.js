/** Compiled by `npm test`: the types that are generated from the API's document reject what the API would reject. */

/** @typedef {import("../../../examples/echo-bot/herald-api.js").components["schemas"]} Schemas */
/** @typedef {import("../../../examples/echo-bot/herald-api.js").operations["sendMessage"]} SendMessage */
/** @typedef {SendMessage["requestBody"]["content"]["application/json"]} Message */

const to = { channel_id: "ch_1", to: "5511988887777" };
const image = { link: "https://shop.example/a.png" };

/** @type {Message[]} */
export const accepted = [
  { ...to, type: "text", text: { body: "Hi" } },
  { ...to, type: "image", image },
];

/** @type {Message} */
// @ts-expect-error: the text is missing
export const withoutText = { ...to, type: "text" };
/** @type {Message} */
// @ts-expect-error: the body of the text is missing
export const withoutBody = { ...to, type: "text", text: {} };
/** @type {Message} */
// @ts-expect-error: an image is not the content of a text
export const otherContent = { ...to, type: "text", image };
/** @type {Message} */
// @ts-expect-error: there is no such type
export const unknownType = { ...to, type: "letter", text: { body: "Hi" } };

/**
 * @param {Schemas["MessageReceivedEvent"] | Schemas["MessageStatusEvent"] | Schemas["MessageSendResultEvent"]} payload
 * @returns {string | undefined}
 */
export function answer(payload) {
  if (payload.type === "message.received") return payload.data.from.id;
  if (payload.type === "message.send_result") return payload.data.outcome;
  // @ts-expect-error: a status has no outcome
  return payload.data.outcome;
}
