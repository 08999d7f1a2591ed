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

t.test("a message is accepted in the words of the contract", async (t) => {
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
  "both, of which the number wins": [{ recipient: BSUID }, { input: "16505551234", wa_id: "16505551234" }],
};

t.test("the answer names its recipient:", async (t) => {
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
  "a text that answers another": { ...text, context: { message_id: "wamid.prev" } },
  "a text of 4096 letters": { type: "text", text: { body: "x".repeat(4096) } },
  "a picture": { type: "image", image: { link, caption: "Look" } },
  "a video": { type: "video", video: { link } },
  "a sound": { type: "audio", audio: { link } },
  "a document": { type: "document", document: { link, filename: "a.pdf", caption: "Read" } },
  "a sticker": { type: "sticker", sticker: { link } },
  "a place": { type: "location", location: { latitude: -23.5, longitude: "-46.6", name: "Here" } },
  "a business card": { type: "contacts", contacts: [{ name: { formatted_name: "Ana" }, phones: [] }] },
  buttons: interactive("button", { buttons: [button("Yes"), button("No")] }),
  "a list": interactive("list", {
    button: "Choose",
    sections: [{ title: "All", rows: [{ id: "1", title: "One" }] }],
  }),
  "a link to press": interactive("cta_url", {
    name: "cta_url",
    parameters: { display_text: "Go", url: link },
  }),
  "a product": interactive("product", { catalog_id: "1", product_retailer_id: "2" }, {}),
  "a question for the place": interactive("location_request_message", { name: "send_location" }),
};

t.test("taken is", async (t) => {
  const { base } = await startSandbox(t);
  for (const [what, content] of Object.entries(ACCEPTED))
    t.match(
      await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, { ...common, ...content }),
      { status: 200 },
      what,
    );
});

const REFUSED: Record<string, [message: object, refusal: string]> = {
  "without the product": [{ messaging_product: undefined }, "400 100"],
  "for another product": [{ messaging_product: "telegram" }, "400 100"],
  "to a group": [{ recipient_type: "group" }, "400 100"],
  "to nobody": [{ to: undefined }, "400 100"],
  "to a name": [{ to: "Ana" }, "400 131009"],
  "to a number that is too short": [{ to: "12345" }, "400 131009"],
  "to a scoped id in the place of the number": [{ to: BSUID }, "400 131009"],
  "to a scoped id that is none": [{ to: undefined, recipient: "usa.1" }, "400 131009"],
  "to itself": [{ to: PHONE_NUMBER }, "400 131021"],
  "to itself with a plus": [{ to: `+${PHONE_NUMBER}` }, "400 131021"],
  "of an unknown type": [{ type: "song" }, "400 100"],
  "of a type that every object has": [{ type: "constructor" }, "400 100"],
  "of a type that only people send": [{ type: "order", order: {} }, "400 131051"],
  "without its content": [{ text: undefined }, "400 131008"],
  "with a content that is no object": [{ text: "Hi" }, "400 100"],
  "with a text without body": [{ text: {} }, "400 131008"],
  "with an empty body": [{ text: { body: "" } }, "400 131008"],
  "with a body that is a number": [{ text: { body: 5 } }, "400 131009"],
  "with a body of 4097 letters": [{ text: { body: "x".repeat(4097) } }, "400 100"],
  "with a context that names nothing": [{ context: {} }, "400 131008"],
  "with a picture that is nowhere": [{ type: "image", image: {} }, "400 131009"],
  "with a picture in two places": [{ type: "image", image: { id: "1", link } }, "400 131009"],
  "with a picture nobody uploaded": [{ type: "image", image: { id: "1" } }, "400 131009"],
  "with a link that is none": [{ type: "image", image: { link: "file:///etc" } }, "400 131009"],
  "with a long caption": [{ type: "image", image: { link, caption: "x".repeat(1025) } }, "400 100"],
  "with half a place": [{ type: "location", location: { latitude: 1 } }, "400 131008"],
  "with a place off the earth": [
    { type: "location", location: { latitude: 91, longitude: 0 } },
    "400 131009",
  ],
  "with no business card": [{ type: "contacts", contacts: [] }, "400 131009"],
  "with business cards that are no list": [{ type: "contacts", contacts: {} }, "400 100"],
  "with a business card without a name": [{ type: "contacts", contacts: [{}] }, "400 131008"],
  "with a business card that is no object": [{ type: "contacts", contacts: ["Ana"] }, "400 131009"],
  "with a reaction to nothing": [{ type: "reaction", reaction: { emoji: "👍" } }, "400 131008"],
  "with a reaction to an unknown message": [
    { type: "reaction", reaction: { message_id: "wamid.HBgabc", emoji: "👍" } },
    "400 131009",
  ],
  "with nothing to press": [interactive("button", {}), "400 131008"],
  "with four buttons": [interactive("button", { buttons: ["a", "b", "c", "d"].map(button) }), "400 131009"],
  "with a long button": [interactive("button", { buttons: [button("x".repeat(21))] }), "400 100"],
  "with a list without rows": [interactive("list", { button: "x", sections: [{}] }), "400 131008"],
  "with buttons but no text": [interactive("button", { buttons: [button("a")] }, {}), "400 131008"],
  "with a kind of buttons that every object has": [interactive("toString", {}), "400 100"],
  "with an unknown kind of buttons": [interactive("wheel", {}), "400 100"],
  "with a template without a name": [{ type: "template", template: {} }, "400 131008"],
  "with a template in no language": [{ type: "template", template: { name: "x" } }, "400 131008"],
};

t.test("a message is refused", async (t) => {
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

t.test("a message of this number can be reacted to, and the reaction taken back", async (t) => {
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

t.test("an object in the place of a coordinate is refused, not stumbled over", async (t) => {
  const { base } = await startSandbox(t);
  for (const latitude of [{ toString: 1, valueOf: 1 }, [[1]], null]) {
    const message = { ...common, type: "location", location: { latitude, longitude: 1 } };
    t.equal(formatRefusal(await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, message)), "400 131009");
  }
});
