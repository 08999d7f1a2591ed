import t from "tap";
import {
  DEMO_PAGE,
  INSTAGRAM,
  isSigned,
  messagingOf,
  PAGE,
  post,
  startWithReceiver,
} from "../../fixtures/sandbox/assets.ts";
import { receiveWebhooks, speak, startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const person = "2400000000000024";
const send = (base: string, account: string, message: object) =>
  post(`${base}/${account}/messages`, { recipient: { id: person }, message }, DEMO_PAGE);

t.test("Messenger tells of the echo, the delivery and the reading, up to when", async (t) => {
  const { base, received } = await startWithReceiver(t);
  const before = Date.now();
  const { message_id: mid } = (await send(base, PAGE, { text: "Hi" })).body;
  await until("all three", () => received.length === 3);
  const events = messagingOf(received, "page");
  const [echo, delivery, read] = ["message", "delivery", "read"].map((name) =>
    events.find((event) => name in event),
  );
  t.match(echo, {
    sender: { id: PAGE },
    recipient: { id: person },
    message: { mid, text: "Hi", is_echo: true, app_id: 1900000000000001 },
  });
  t.match(delivery, { sender: { id: person }, recipient: { id: PAGE }, delivery: { mids: [mid] } });
  t.match(read, { sender: { id: person }, recipient: { id: PAGE }, read: { watermark: Number } });
  t.ok(delivery.delivery.watermark >= before && read.read.watermark >= before, "in milliseconds");
  for (const webhook of received) {
    t.ok(isSigned(webhook));
    t.match(webhook.body, { object: "page", entry: [{ id: PAGE, time: Number }] });
    t.ok(webhook.body.entry[0].time >= before && webhook.body.entry[0].messaging[0].timestamp >= before);
  }
});

t.test("a page writes to people of its photo account as that account", async (t) => {
  const { base, origin, received } = await startWithReceiver(t);
  const writer = "2400000000000099";
  const wrote = { channel: INSTAGRAM, from: writer, type: "text", content: { text: "Hello" } };
  await speak(`${origin}/_sandbox/inbound`, { json: wrote });
  for (const id of [writer, "17840000000000024"]) {
    const message = { recipient: { id }, message: { text: "Hi" } };
    const { message_id: mid } = (await post(`${base}/${PAGE}/messages`, message, DEMO_PAGE)).body;
    const read = () => messagingOf(received, "instagram").find((event) => event.read?.mid === mid);
    t.match(await until("it is read", read), { sender: { id }, recipient: { id: INSTAGRAM } });
  }
});

t.test("the photo platform tells which message was read, and nothing of deliveries", async (t) => {
  const { base, received } = await startWithReceiver(t);
  const attachment = { type: "image", payload: { url: "https://example.com/a.png" } };
  const { message_id: mid } = (await send(base, INSTAGRAM, { attachment })).body;
  const has = (name: string) => messagingOf(received, "instagram").some((event) => name in event);
  await until("the echo and the reading", () => has("message") && has("read"));
  const events = messagingOf(received, "instagram");
  t.equal(events.length, 2);
  t.match(
    events.find((event) => "message" in event),
    {
      sender: { id: INSTAGRAM },
      recipient: { id: person },
      message: { mid, attachments: [attachment], is_echo: true },
    },
  );
  t.match(
    events.find((event) => "read" in event),
    { sender: { id: person }, recipient: { id: INSTAGRAM }, read: { mid } },
  );
  t.same(
    received.map(({ body }) => body.entry[0].id),
    [INSTAGRAM, INSTAGRAM],
  );
});

t.test("a sign has no consequences, and an app id need not be a number", async (t) => {
  const receiver = await receiveWebhooks(t);
  const settings = { PUBLIC_URL: receiver.url, PLATFORM_APP_ID: "our-app" };
  const { base } = await startSandbox(t, { settings });
  await post(
    `${base}/${PAGE}/messages`,
    { recipient: { id: person }, sender_action: "typing_on" },
    DEMO_PAGE,
  );
  await send(base, PAGE, { text: "Hi" });
  await until("what follows the message", () => receiver.received.length === 3);
  t.equal(messagingOf(receiver.received, "page").find(({ message }) => message).message.app_id, "our-app");
});
