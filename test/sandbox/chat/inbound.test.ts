import { createHash } from "node:crypto";
import t from "tap";
import {
  changesOf,
  DEMO_CHAT_TOKEN,
  formatRefusal,
  isSigned,
  PHONE_NUMBER,
  PHONE_NUMBER_ID,
  PLAIN_NUMBER_ID,
  postJson,
  startSandboxWithReceiver,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

type SandboxWithReceiver = Awaited<ReturnType<typeof startSandboxWithReceiver>>;

const sendInbound = ({ origin }: SandboxWithReceiver, message: object) =>
  callSandbox(`${origin}/_sandbox/inbound`, {
    json: { channel: PHONE_NUMBER_ID, from: "16505551234", ...message },
  });

/** Sends an inbound message and returns the webhook's value and message. */
async function receiveInbound(sandbox: SandboxWithReceiver, message: object) {
  const inbound = () =>
    sandbox.received.filter((webhook) => changesOf([webhook], "messages")[0].messages !== undefined);
  const before = inbound().length;
  const answer = await sendInbound(sandbox, message);
  if (answer.status !== 202) throw new Error(`not accepted: ${JSON.stringify(answer.body)}`);
  const webhook = await until("the webhook", () => inbound()[before]);
  const [value] = changesOf([webhook], "messages");
  return { webhook, value, message: value.messages[0] };
}

t.test("a text arrives in the documented format, signed", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const { webhook, value, message } = await receiveInbound(sandbox, {
    type: "text",
    content: { body: "Olá" },
  });
  t.ok(isSigned(webhook));
  t.match(webhook.raw, "Ol\\u00e1", "escaped, so that only the raw bytes match the signature");
  t.match(webhook.body, { object: "whatsapp_business_account", entry: [{ id: WABA_ID }] });
  t.same(Object.keys(webhook.body.entry[0]).sort(), ["changes", "id"], "without a time");
  t.match(value, {
    messaging_product: "whatsapp",
    metadata: { display_phone_number: PHONE_NUMBER, phone_number_id: PHONE_NUMBER_ID },
    contacts: [{ profile: { name: String }, wa_id: "16505551234", user_id: /^US\.\d+$/ }],
  });
  t.match(message, {
    from: "16505551234",
    from_user_id: value.contacts[0].user_id,
    id: /^wamid\./,
    timestamp: /^\d{10}$/,
    type: "text",
    text: { body: "Olá" },
  });
});

t.test("a message from a scoped id has no number", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const { value, message } = await receiveInbound(sandbox, { from: "BR.1502576394655843", type: "text" });
  t.notOk("from" in message || "wa_id" in value.contacts[0]);
  t.equal(message.from_user_id, "BR.1502576394655843");
  t.match(value.contacts, [{ user_id: "BR.1502576394655843", profile: { username: String } }]);
});

const DEFAULTS: Record<string, object> = {
  text: { body: String },
  location: { latitude: Number, longitude: Number },
  contacts: [{ name: { formatted_name: String } }],
  button: { payload: String, text: String },
  interactive: { type: "button_reply", button_reply: { id: String, title: String } },
  order: { catalog_id: String, product_items: [{ product_retailer_id: String, quantity: Number }] },
  reaction: { message_id: /^wamid\./, emoji: String },
  system: { body: String, type: String, wa_id: String, user_id: String },
  unsupported: { type: "unknown" },
  edit: { original_message_id: /^wamid\./, message: { type: "text" } },
  revoke: { original_message_id: /^wamid\./ },
};

t.test("every type arrives with generated content when none is given", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  for (const [type, content] of Object.entries(DEFAULTS)) {
    const { message } = await receiveInbound(sandbox, { type });
    t.equal(message.type, type);
    t.match(message[type], content, type);
    t.equal("errors" in message, type === "unsupported");
  }
});

t.test("content arrives as given", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const content = { type: "list_reply", list_reply: { id: "1", title: "One", description: "First" } };
  t.same((await receiveInbound(sandbox, { type: "interactive", content })).message.interactive, content);
  const contacts = [{ name: { formatted_name: "Bia" } }];
  t.same((await receiveInbound(sandbox, { type: "contacts", content: contacts })).message.contacts, contacts);
});

t.test("context and referral are placed beside the content", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const context = { from: PHONE_NUMBER, id: "wamid.y" };
  const referral = { source_type: "ad", source_id: "120", ctwa_clid: "x" };
  const { message } = await receiveInbound(sandbox, {
    type: "text",
    content: { context, referral, body: "Hi" },
  });
  t.match(message, { text: { body: "Hi" }, context, referral });
  t.same(Object.keys(message.text), ["body"]);
});

const FILES = {
  image: { mime_type: "image/png", caption: "Look" },
  video: { mime_type: "video/mp4" },
  audio: { mime_type: "audio/ogg", voice: false },
  document: { mime_type: "text/plain", filename: "order.txt" },
  sticker: { mime_type: "image/webp", animated: false },
};

t.test("the file of an inbound message can be downloaded", async (t) => {
  const sandbox = await startSandboxWithReceiver(t, 1); // its URL lasts for minutes and not for three seconds
  for (const [type, expected] of Object.entries(FILES)) {
    const content = type === "image" ? { caption: "Look" } : undefined;
    const { message } = await receiveInbound(sandbox, { type, content });
    const { id, sha256, ...rest } = message[type];
    t.same(rest, expected, type);
    const { url } = (await callSandbox(`${sandbox.base}/${id}`, { token: DEMO_CHAT_TOKEN })).body;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${DEMO_CHAT_TOKEN}` } });
    t.equal(answer.headers.get("content-type"), expected.mime_type);
    const bytes = Buffer.from(await answer.arrayBuffer());
    t.equal(createHash("sha256").update(bytes).digest("hex"), sha256);
  }
});

t.test("a received message can be marked as read by its number", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const { message } = await receiveInbound(sandbox, { type: "text" });
  const read = { messaging_product: "whatsapp", status: "read", message_id: message.id };
  const address = `${sandbox.base}/${PHONE_NUMBER_ID}/messages`;
  t.same((await postJson(address, read)).body, { success: true });
  t.same((await postJson(address, { ...read, typing_indicator: { type: "text" } })).body, { success: true });
  t.equal(formatRefusal(await postJson(address, { ...read, typing_indicator: { type: "drum" } })), "400 100");
  t.equal(formatRefusal(await postJson(address, { ...read, status: "seen" })), "400 100");
  t.equal(formatRefusal(await postJson(address, { ...read, message_id: undefined })), "400 100");
  t.equal(formatRefusal(await postJson(address, { ...read, message_id: "wamid.unknown" })), "400 131009");
  const sent = { messaging_product: "whatsapp", to: "16505551234", text: { body: "Hi" } };
  const { id } = (await postJson(address, sent)).body.messages[0];
  t.equal(
    formatRefusal(await postJson(address, { ...read, message_id: id })),
    "400 131009",
    "a sent message cannot be marked as read",
  );
  const { message: other } = await receiveInbound(sandbox, { channel: PLAIN_NUMBER_ID, type: "text" });
  t.equal(formatRefusal(await postJson(address, { ...read, message_id: other.id })), "400 131009");
});

t.test("an invalid message is refused", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  for (const type of ["song", "constructor"]) t.equal((await sendInbound(sandbox, { type })).status, 400);
  t.equal((await sendInbound(sandbox, { type: "text", from: "Ana" })).status, 400);
  t.equal((await sendInbound(sandbox, { type: "text", content: "Hi" })).status, 400);
  t.same(sandbox.received, []);
});
