import t from "tap";
import { recordEvents } from "../../../src/domain/events/record-events.ts";
import { readWebhook, UPDATE_LIMITS } from "../../../src/platforms/webhooks/read-webhook.ts";
import { openJson } from "../../../src/runtime/json/json-source.ts";
import { EVENT_TYPES, type EventType } from "../../../src/schema/enumerations.ts";
import { anyEventPayload, EVENT_PAYLOADS } from "../../../src/schema/events/event.ts";
import { CONTENT_BY_TYPE } from "../../../src/schema/events/message-content.ts";
import { createValidator } from "../../../src/schema/validate.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { makeEvents } from "../../fixtures/events/events.ts";
import { checkStoredEvents } from "../../fixtures/events/stored-events.ts";
import { openDatabase } from "../../fixtures/processes/schedulers.ts";

const check = createValidator().json(anyEventPayload, "the payload");
const exampleOf = (type: EventType): Record<string, unknown> => EVENT_PAYLOADS[type].examples?.[0];

t.test("the example of every event type matches the schema of events", async (t) => {
  for (const type of EVENT_TYPES) t.same(check(exampleOf(type)), [], type);
});

t.test("the check of payloads reports the problems of the event's own type", async (t) => {
  const payload = exampleOf("message.send_result");
  t.match(check({ ...payload, data: { message_id: "1" } }), [
    { path: "/data/outcome" },
    { path: "/data/message_id" },
  ]);
  t.match(check({ ...payload, colour: "red" }), [{ path: "/colour" }]);
  t.equal(check({ ...payload, type: "message.lost" }).length, 1);
});

/** The data of the only message in a webhook, as the event has it. */
function readMessage(object: string, entry: object): { type: string; content: unknown } {
  const webhook = openJson(JSON.stringify({ object, entry: [{ id: "77", ...entry }] }), UPDATE_LIMITS);
  const [reading] = readWebhook(webhook).updates;
  return JSON.parse(reading?.data.text ?? "");
}

const chatMessage = (fields: object) => {
  const value = {
    metadata: { phone_number_id: "1" },
    messages: [{ id: "wamid.1", from: "1650", ...fields }],
  };
  return readMessage("whatsapp_business_account", { changes: [{ field: "messages", value }] });
};

const pageMessage = (fields: object) =>
  readMessage("page", { messaging: [{ sender: { id: "9" }, recipient: { id: "77" }, ...fields }] });

const fileContent = { id: "1", mime_type: "image/jpeg", sha256: "x" };
const attached = (type: string) => ({
  message: { mid: "m_1", attachments: [{ type, payload: { url: "https://x.example" } }] },
});

/** A received message of each type whose content is described. */
const RECEIVED = [
  ...Object.entries({
    text: { body: "Hi" },
    image: { ...fileContent, caption: "Broken" },
    video: fileContent,
    audio: { ...fileContent, voice: true },
    document: { ...fileContent, filename: "order.pdf" },
    sticker: { ...fileContent, animated: false },
    location: { latitude: -23.5, longitude: -46, name: "Here" },
    contacts: [{ name: { formatted_name: "Ana" }, phones: [{ phone: "+55 11", wa_id: "5511" }] }],
    interactive: { type: "list_reply", list_reply: { id: "1", title: "Yes", description: "d" } },
    button: { payload: "STOP", text: "Stop" },
    order: { catalog_id: "1", product_items: [{ product_retailer_id: "a", quantity: 2, item_price: 1.5 }] },
    reaction: { message_id: "wamid.0", emoji: "👍" },
    system: { body: "New number", type: "user_changed_number", wa_id: "1651" },
  }).map(([type, content]) => chatMessage({ type, [type]: content })),
  ...["image", "video", "audio", "location", "file", "template", "fallback", "share", "story_mention"].map(
    (type) => pageMessage(attached(type)),
  ),
  pageMessage({ message: { mid: "m_1", is_deleted: true } }),
  pageMessage({ postback: { mid: "m_2", title: "Start", payload: "GO" } }),
  pageMessage({ reaction: { mid: "m_1", action: "react", reaction: "love", emoji: "❤" } }),
];

t.test("the content of a received message is as its type documents", async (t) => {
  const described = CONTENT_BY_TYPE.variants.slice(0, -1).map((variant) => ({
    types: variant.properties.type?.enum as string[],
    check: createValidator().json(variant),
  }));
  for (const { type, content } of RECEIVED) {
    const variant = described.find(({ types }) => types.includes(type));
    t.same(variant?.check({ type, content }), [], type);
  }
  t.same(
    new Set(RECEIVED.map(({ type }) => type)),
    new Set(described.flatMap(({ types }) => types)),
    "each type has an example",
  );
});

t.test("a received message of any type, with any content or none, is valid", async (t) => {
  const payload = exampleOf("message.received");
  for (const data of [
    ...RECEIVED,
    pageMessage({ message: { mid: "m_1", text: "Hi" } }),
    pageMessage({ message: { mid: "m_1", text: "Hi", is_echo: true } }),
    chatMessage({ type: "unsupported", errors: [{ code: 131051 }] }),
    chatMessage({ type: "hologram", hologram: { depth: 3 } }),
    chatMessage({ type: "text" }),
    chatMessage({ type: "image", image: 7 }),
  ])
    t.same(check({ ...payload, data }), [], JSON.stringify(data));
  const { content, ...withoutContent } = chatMessage({ type: "text", text: { body: "Hi" } });
  t.ok(check({ ...payload, data: withoutContent }).length > 0, "the fields of each message are checked");
});

t.test("an event whose payload is not documented fails the test that stores it", async (t) => {
  const db = await openDatabase(t);
  const { id: clientId } = await createClient(db, "A client");
  await makeEvents({ db }, { id: clientId }, {});
  await t.resolves(checkStoredEvents(db), "an event that a fixture made up is not checked");
  await db
    .transaction(async (tx) => {
      const data = { reason: "requested", colour: "red" };
      await recordEvents(tx, [{ clientId, type: "channel.disconnected", key: "chatapp", data }]);
      await t.rejects(checkStoredEvents(tx), /data.colour is not a known field/);
      throw new Error("rolled back");
    })
    .catch(() => {});
});
