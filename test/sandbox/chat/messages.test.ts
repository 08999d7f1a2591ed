import t from "tap";
import {
  formatRefusal,
  issueChatToken,
  OTHER_WABA_ID,
  PHONE_NUMBER,
  PHONE_NUMBER_ID,
  PLAIN_NUMBER_ID,
  postJson,
} from "../../fixtures/sandbox/assets.ts";
import { startSandbox } from "../../fixtures/sandbox/sandbox.ts";

const BSUID = "US.13491208655302741918";
const common = { messaging_product: "whatsapp", recipient_type: "individual", to: "16505551234" };
const text = { ...common, type: "text", text: { body: "Hi", preview_url: false } };

t.test("a message is accepted in the documented format", async (t) => {
  const { base } = await startSandbox(t);
  const answer = await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, text);
  t.equal(answer.status, 200);
  t.match(answer.body.messages[0].id, /^wamid\.HBg/);
  t.same(answer.body, {
    messaging_product: "whatsapp",
    contacts: [{ input: "16505551234", wa_id: "16505551234" }],
    messages: [{ id: answer.body.messages[0].id }],
  });
});

const CONTACTS: Record<string, [recipient: object, contact: object]> = {
  "a number with a plus": [{ to: "+16505551234" }, { input: "+16505551234", wa_id: "16505551234" }],
  "a Brazilian mobile number, known without its ninth digit": [
    { to: "5511999998888" },
    { input: "5511999998888", wa_id: "551199998888" },
  ],
  "a Brazilian number of twelve digits": [
    { to: "551133334444" },
    { input: "551133334444", wa_id: "551133334444" },
  ],
  "a scoped id": [
    { to: undefined, recipient: BSUID },
    { input: BSUID, user_id: BSUID },
  ],
  "a parent scoped id": [
    { to: undefined, recipient: "BR.ENT.118" },
    { input: "BR.ENT.118", user_id: "BR.ENT.118" },
  ],
  "a number and a scoped id, of which the number wins": [
    { recipient: BSUID },
    { input: "16505551234", wa_id: "16505551234" },
  ],
};

t.test("the answer contains the recipient's contact", async (t) => {
  const { base } = await startSandbox(t);
  for (const [what, [recipient, contact]] of Object.entries(CONTACTS)) {
    const answer = await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...text, ...recipient });
    t.same(answer.body.contacts, [contact], what);
  }
});

const link = "https://example.com/file";
const button = (title: string) => ({ type: "reply", reply: { id: "a", title } });
const interactive = (type: string, action: object, rest: object = { body: { text: "Well?" } }) => ({
  type: "interactive",
  interactive: { type, action, ...rest },
});

const ACCEPTED: Record<string, object> = {
  "a text without a type": { text: { body: "Hi" } },
  "a text in reply to another": { ...text, context: { message_id: "wamid.prev" } },
  "a text of 4096 characters": { type: "text", text: { body: "x".repeat(4096) } },
  "an image": { type: "image", image: { link, caption: "Look" } },
  "a video": { type: "video", video: { link } },
  "an audio file": { type: "audio", audio: { link } },
  "a document": { type: "document", document: { link, filename: "a.pdf", caption: "Read" } },
  "a sticker": { type: "sticker", sticker: { link } },
  "a location": { type: "location", location: { latitude: -23.5, longitude: "-46.6", name: "Here" } },
  "a contact": { type: "contacts", contacts: [{ name: { formatted_name: "Ana" }, phones: [] }] },
  buttons: interactive("button", { buttons: [button("Yes"), button("No")] }),
  "a list": interactive("list", {
    button: "Choose",
    sections: [{ title: "All", rows: [{ id: "1", title: "One" }] }],
  }),
  "a link button": interactive("cta_url", {
    name: "cta_url",
    parameters: { display_text: "Go", url: link },
  }),
  "a product": interactive("product", { catalog_id: "1", product_retailer_id: "2" }, {}),
  "a call button": interactive("voice_call", { name: "voice_call" }),
  "a carousel": interactive("carousel", { cards: [{}, {}] }),
  "an order": interactive("order_details", { name: "review_and_pay" }),
  "a location request": interactive("location_request_message", { name: "send_location" }),
};

t.test("a valid message of every type is accepted", async (t) => {
  const { base } = await startSandbox(t);
  for (const [what, content] of Object.entries(ACCEPTED))
    t.match(
      await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...common, ...content }),
      { status: 200 },
      what,
    );
});

const REFUSED: Record<string, [message: object, refusal: string]> = {
  "no product": [{ messaging_product: undefined }, "400 100"],
  "another product": [{ messaging_product: "telegram" }, "400 100"],
  "a group as recipient": [{ recipient_type: "group" }, "400 100"],
  "no recipient": [{ to: undefined }, "400 100"],
  "a name as recipient": [{ to: "Ana" }, "400 131009"],
  "a number that is too short": [{ to: "12345" }, "400 131009"],
  "a scoped id in place of the number": [{ to: BSUID }, "400 131009"],
  "an invalid scoped id": [{ to: undefined, recipient: "usa.1" }, "400 131009"],
  "its own number as recipient": [{ to: PHONE_NUMBER }, "400 131021"],
  "its own number with a plus": [{ to: `+${PHONE_NUMBER}` }, "400 131021"],
  "an unknown type": [{ type: "song" }, "400 100"],
  "a type named like an inherited property": [{ type: "constructor" }, "400 100"],
  "a type that only people can send": [{ type: "order", order: {} }, "400 131051"],
  "no content": [{ text: undefined }, "400 131008"],
  "content that is not an object": [{ text: "Hi" }, "400 100"],
  "a text without a body": [{ text: {} }, "400 131008"],
  "an empty body": [{ text: { body: "" } }, "400 131008"],
  "a body that is a number": [{ text: { body: 5 } }, "400 131009"],
  "a body of 4097 characters": [{ text: { body: "x".repeat(4097) } }, "400 100"],
  "a context without a message id": [{ context: {} }, "400 131008"],
  "an image without id and link": [{ type: "image", image: {} }, "400 131009"],
  "an image with both id and link": [{ type: "image", image: { id: "1", link } }, "400 131009"],
  "an image that was not uploaded": [{ type: "image", image: { id: "1" } }, "400 131009"],
  "an invalid link": [{ type: "image", image: { link: "file:///etc" } }, "400 131009"],
  "a caption that is too long": [{ type: "image", image: { link, caption: "x".repeat(1025) } }, "400 100"],
  "a location without longitude": [{ type: "location", location: { latitude: 1 } }, "400 131008"],
  "a location out of range": [{ type: "location", location: { latitude: 91, longitude: 0 } }, "400 131009"],
  "an empty list of contacts": [{ type: "contacts", contacts: [] }, "400 131009"],
  "contacts that are not a list": [{ type: "contacts", contacts: {} }, "400 100"],
  "a contact without a name": [{ type: "contacts", contacts: [{}] }, "400 131008"],
  "a contact that is not an object": [{ type: "contacts", contacts: ["Ana"] }, "400 131009"],
  "a reaction without a message id": [{ type: "reaction", reaction: { emoji: "👍" } }, "400 131008"],
  "a reaction to an unknown message": [
    { type: "reaction", reaction: { message_id: "wamid.HBgabc", emoji: "👍" } },
    "400 131009",
  ],
  "an interactive message without buttons": [interactive("button", {}), "400 131008"],
  "four buttons": [interactive("button", { buttons: ["a", "b", "c", "d"].map(button) }), "400 131009"],
  "a button title that is too long": [
    interactive("button", { buttons: [button("x".repeat(21))] }),
    "400 100",
  ],
  "a list without rows": [interactive("list", { button: "x", sections: [{}] }), "400 131008"],
  "buttons without a body text": [interactive("button", { buttons: [button("a")] }, {}), "400 131008"],
  "an interactive type named like an inherited property": [interactive("toString", {}), "400 100"],
  "an unknown interactive type": [interactive("wheel", {}), "400 100"],
  "a template without a name": [{ type: "template", template: {} }, "400 131008"],
  "a template without a language": [{ type: "template", template: { name: "x" } }, "400 131008"],
};

t.test("an invalid message is refused", async (t) => {
  const { base } = await startSandbox(t);
  for (const [what, [change, expected]] of Object.entries(REFUSED)) {
    const answer = await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...text, ...change });
    t.equal(formatRefusal(answer), expected, what);
  }
  const withoutRecipient = await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...text, to: undefined });
  t.match(withoutRecipient.body.error.message, "The parameter to is required.");
  const invalid = await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...text, to: "Ana" });
  t.match(invalid.body.error, {
    type: "OAuthException",
    fbtrace_id: String,
    error_data: { messaging_product: "whatsapp", details: String },
  });
});

t.test("a number can react to its own messages and remove the reaction", async (t) => {
  const { base } = await startSandbox(t);
  const { id } = (await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, text)).body.messages[0];
  const react = (number: string, reaction: object, token?: string) =>
    postJson(`${base}/${number}/messages`, { ...common, type: "reaction", reaction }, token);
  t.equal((await react(PHONE_NUMBER_ID, { message_id: id, emoji: "👍" })).status, 200);
  t.equal((await react(PHONE_NUMBER_ID, { message_id: id, emoji: "" })).status, 200);
  t.equal(formatRefusal(await react(PHONE_NUMBER_ID, { message_id: id })), "400 131008");
  const otherToken = issueChatToken([OTHER_WABA_ID]);
  t.equal(
    formatRefusal(await react(PLAIN_NUMBER_ID, { message_id: id, emoji: "👍" }, otherToken)),
    "400 131009",
  );
});

t.test("an object in place of a coordinate is refused", async (t) => {
  const { base } = await startSandbox(t);
  for (const latitude of [{ toString: 1, valueOf: 1 }, [[1]], null]) {
    const message = { ...common, type: "location", location: { latitude, longitude: 1 } };
    t.equal(formatRefusal(await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, message)), "400 131009");
  }
});
