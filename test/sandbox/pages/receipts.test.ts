import t from "tap";
import {
  DEMO_PAGE_TOKEN,
  INSTAGRAM_ID,
  isSigned,
  messagingOf,
  PAGE_ID,
  postJson,
  startSandboxWithReceiver,
} from "../../fixtures/sandbox/assets.ts";
import { callSandbox, startSandbox, startWebhookReceiver } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const person = "2400000000000024";
const send = (base: string, account: string, message: object) =>
  postJson(`${base}/${account}/messages`, { recipient: { id: person }, message }, DEMO_PAGE_TOKEN);

t.test("Messenger sends the echo, the delivery and the read receipt with watermarks", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  const before = Date.now();
  const { message_id: mid } = (await send(base, PAGE_ID, { text: "Hi" })).body;
  await until("all three", () => received.length === 3);
  const events = messagingOf(received, "page");
  const [echo, delivery, read] = ["message", "delivery", "read"].map((name) =>
    events.find((event) => name in event),
  );
  t.match(echo, {
    sender: { id: PAGE_ID },
    recipient: { id: person },
    message: { mid, text: "Hi", is_echo: true, app_id: 1900000000000001 },
  });
  t.match(delivery, { sender: { id: person }, recipient: { id: PAGE_ID }, delivery: { mids: [mid] } });
  t.match(read, { sender: { id: person }, recipient: { id: PAGE_ID }, read: { watermark: Number } });
  t.ok(delivery.delivery.watermark >= before && read.read.watermark >= before, "in milliseconds");
  for (const webhook of received) {
    t.ok(isSigned(webhook));
    t.match(webhook.body, { object: "page", entry: [{ id: PAGE_ID, time: Number }] });
    t.ok(webhook.body.entry[0].time >= before && webhook.body.entry[0].messaging[0].timestamp >= before);
  }
});

t.test("a page's message to a person on the photo platform is sent from its photo account", async (t) => {
  const { base, origin, received } = await startSandboxWithReceiver(t);
  const senderId = "2400000000000099";
  const inboundMessage = { channel: INSTAGRAM_ID, from: senderId, type: "text", content: { text: "Hello" } };
  await callSandbox(`${origin}/_sandbox/inbound`, { json: inboundMessage });
  for (const id of [senderId, "17840000000000024"]) {
    const message = { recipient: { id }, message: { text: "Hi" } };
    const { message_id: mid } = (await postJson(`${base}/${PAGE_ID}/messages`, message, DEMO_PAGE_TOKEN))
      .body;
    const read = () => messagingOf(received, "instagram").find((event) => event.read?.mid === mid);
    t.match(await until("the message is read", read), { sender: { id }, recipient: { id: INSTAGRAM_ID } });
  }
});

t.test("the photo platform reports the read message and no deliveries", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  const attachment = { type: "image", payload: { url: "https://example.com/a.png" } };
  const { message_id: mid } = (await send(base, INSTAGRAM_ID, { attachment })).body;
  const hasEvent = (name: string) => messagingOf(received, "instagram").some((event) => name in event);
  await until("the echo and the read receipt", () => hasEvent("message") && hasEvent("read"));
  const events = messagingOf(received, "instagram");
  t.equal(events.length, 2);
  t.match(
    events.find((event) => "message" in event),
    {
      sender: { id: INSTAGRAM_ID },
      recipient: { id: person },
      message: { mid, attachments: [attachment], is_echo: true },
    },
  );
  t.match(
    events.find((event) => "read" in event),
    { sender: { id: person }, recipient: { id: INSTAGRAM_ID }, read: { mid } },
  );
  t.same(
    received.map(({ body }) => body.entry[0].id),
    [INSTAGRAM_ID, INSTAGRAM_ID],
  );
});

t.test("a sender action sends no webhooks, and the app id need not be a number", async (t) => {
  const receiver = await startWebhookReceiver(t);
  const settings = { PUBLIC_URL: receiver.url, PLATFORM_APP_ID: "our-app" };
  const { base } = await startSandbox(t, { settings });
  await postJson(
    `${base}/${PAGE_ID}/messages`,
    { recipient: { id: person }, sender_action: "typing_on" },
    DEMO_PAGE_TOKEN,
  );
  await send(base, PAGE_ID, { text: "Hi" });
  await until("the receipts of the message", () => receiver.received.length === 3);
  t.equal(messagingOf(receiver.received, "page").find(({ message }) => message).message.app_id, "our-app");
});
