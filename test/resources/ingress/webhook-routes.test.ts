import t, { type Test } from "tap";
import { timeOfId } from "../../../src/runtime/ids.ts";
import { DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { insertMessage } from "../../fixtures/messages/message-rows.ts";
import {
  readClientEvents,
  sendWebhook,
  signWebhook,
  statusWebhook,
} from "../../fixtures/platforms/webhooks.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

const WEBHOOK_PATH = "/platform/webhook";
const METRICS_TOKEN = "a-token-of-the-operator";

/** Starts the API and creates a client with a chat channel. */
async function startWithChannel(t: Test, options: Parameters<typeof startApi>[1] = {}) {
  const api = await startApi(t, options);
  const tenant = await makeTenant(api);
  const [wabaId, phoneNumberId] = [newPlatformId(), newPlatformId()];
  const channelId = await makeChannel(api, tenant, { wabaId, phoneNumberId, externalRef: "shop-7" });
  return { api, tenant, channelId, wabaId, phoneNumberId };
}

const textMessage = (id: string, body = "Hello") =>
  JSON.stringify({ from: "5511999998888", id, timestamp: "1790000000", type: "text", text: { body } });

/** Built as text, because tests check the exact bytes. */
const chatWebhook = (wabaId: string, phoneNumberId: string, messages: readonly string[]) =>
  `{"object":"whatsapp_business_account","entry":[{"id":"${wabaId}","changes":[{"field":"messages","value":{"messaging_product":"whatsapp","metadata":{"phone_number_id":"${phoneNumberId}"},"messages":[${messages.join()}]}}]}]}`;

const countEvents = async (api: Api) => {
  const [row] = await api.db.query<{ count: string }>("select count(*) as count from events");
  return Number(row?.count);
};

t.test("the handshake returns the challenge only for the right verify token", async (t) => {
  const api = await startApi(t);
  const verify = (query: Record<string, string>) =>
    api.call("GET", `${WEBHOOK_PATH}?${new URLSearchParams(query)}`);
  const right = {
    "hub.mode": "subscribe",
    "hub.challenge": "1158201444",
    "hub.verify_token": "sandbox-verify-token",
  };
  const reply = await verify({ ...right, more: "is fine" });
  t.equal(reply.status, 200);
  t.equal(reply.text, "1158201444");
  t.match(reply.headers.get("content-type"), "text/plain");
  const wrong = [
    { ...right, "hub.verify_token": "sandbox-verify-toke" },
    { ...right, "hub.mode": "unsubscribe" },
    { "hub.mode": "subscribe", "hub.challenge": "1" },
    {},
  ];
  for (const query of wrong)
    t.match(await verify(query), { status: 403, body: { error: "invalid_verify_token" } });
});

t.test("a webhook without a valid signature is refused and records nothing", async (t) => {
  const { api, wabaId, phoneNumberId } = await startWithChannel(t);
  const raw = chatWebhook(wabaId, phoneNumberId, [textMessage("wamid.1")]);
  const signatures = [
    undefined,
    "",
    "sha256=",
    signWebhook(raw).toUpperCase(),
    signWebhook(`${raw} `),
    signWebhook(raw, "other"),
    signWebhook(raw).slice(7),
    `sha1=${signWebhook(raw).slice(7)}`,
  ];
  for (const signature of signatures) {
    const headers = signature === undefined ? {} : { "x-hub-signature-256": signature };
    const reply = await api.call("POST", WEBHOOK_PATH, { raw, headers });
    t.match(reply, { status: 401, body: { error: "unauthorized" } }, String(signature));
    t.ok(reply.headers.get("www-authenticate"));
  }
  t.equal(await countEvents(api), 0);
});

t.test("a message is recorded with its parsed data and its exact raw JSON", async (t) => {
  const { api, tenant, channelId, wabaId, phoneNumberId } = await startWithChannel(t);
  const message = `{"from" : "5511999998888","id":"wamid.1","timestamp":"1790000000","type":"text", "text":{"body":"caf\\u00e9 \\u0000 \\ud83d","price":1.10,"n":12345678901234567890}}`;
  t.same((await sendWebhook(api, chatWebhook(wabaId, phoneNumberId, [message]))).body, { received: true });
  const [event, ...others] = await readClientEvents(api, tenant.id);
  t.same(others, []);
  t.ok(event?.text.endsWith(`,"raw":${message}}`), "the raw JSON is unchanged");
  t.match(event, {
    type: "message.received",
    key: "chatapp",
    state: "skipped",
    payload: {
      id: event?.id,
      type: "message.received",
      api_version: "2026-11-01",
      key: "chatapp",
      channel_id: channelId,
      channel_external_ref: "shop-7",
      recorded_at: new Date(timeOfId(event?.id ?? "")).toISOString(),
      occurred_at: "2026-09-21T14:13:20.000Z",
      data: {
        platform_message_id: "wamid.1",
        from: { id: "5511999998888", phone: "5511999998888" },
        type: "text",
        content: { body: "café \u0000 \ud83d", price: 1.1 },
        at: "2026-09-21T14:13:20.000Z",
      },
    },
  });
  t.match(event?.text, '"n":12345678901234567890}', "the parsed data keeps the long integer too");
});

t.test(
  "an update with an integer of a million digits is recorded as written beside the others",
  async (t) => {
    const { api, tenant, wabaId, phoneNumberId } = await startWithChannel(t);
    const unusual = textMessage("wamid.1").replace('"type"', `"n":${"9".repeat(1_000_000)},"type"`);
    const webhook = chatWebhook(wabaId, phoneNumberId, [unusual, textMessage("wamid.2")]);
    t.equal((await sendWebhook(api, webhook)).status, 200);
    const events = await readClientEvents(api, tenant.id);
    t.same(events.map(({ type }) => type).sort(), ["message.received", "platform.event"]);
    const raw = events.find(({ type }) => type === "platform.event");
    t.ok(raw?.text.endsWith(`,"raw":${unusual}}`));
  },
);

t.test("repeated and concurrent deliveries of an event record it once", async (t) => {
  const { api, tenant, wabaId, phoneNumberId } = await startWithChannel(t);
  const [one, two] = [textMessage("wamid.1"), textMessage("wamid.2")];
  const webhook = (...messages: string[]) => chatWebhook(wabaId, phoneNumberId, messages);
  await sendWebhook(api, webhook(one, one));
  await sendWebhook(api, webhook(one));
  await sendWebhook(api, webhook(two, one, two));
  await Promise.all(
    Array.from({ length: 8 }, () => sendWebhook(api, webhook(two, one, textMessage("wamid.3")))),
  );
  const events = await readClientEvents(api, tenant.id);
  t.same(events.map(({ payload }) => payload.data.platform_message_id).sort(), [
    "wamid.1",
    "wamid.2",
    "wamid.3",
  ]);
  const line = api.lines.find(({ event, recorded }) => event === "webhook.received" && recorded === 0);
  t.match(line, { object: "whatsapp_business_account", updates: 1, duplicate: 1, unknown_asset: 0 });
});

t.test("updates of unknown assets are dropped without affecting the others", async (t) => {
  const { api, tenant, wabaId, phoneNumberId } = await startWithChannel(t, { settings: { METRICS_TOKEN } });
  const other = await makeTenant(api);
  const otherNumber = newPlatformId();
  await makeChannel(api, other, { phoneNumberId: otherNumber });
  const value = (number: unknown, id: string) => ({
    field: "messages",
    value: { metadata: { phone_number_id: number }, messages: [JSON.parse(textMessage(id))] },
  });
  const entry = [
    { id: "1", changes: [value("999", "wamid.foreign"), value(otherNumber, "wamid.other")] },
    {
      id: wabaId,
      changes: [
        value(phoneNumberId, "wamid.mine"),
        value("1'; drop table events", "wamid.x"),
        value("\u0000", "wamid.y"),
      ],
    },
    {},
    { id: wabaId, changes: [] },
  ];
  t.equal((await sendWebhook(api, { object: "whatsapp_business_account", entry })).status, 200);
  const ids = async (clientId: string) =>
    (await readClientEvents(api, clientId)).map(({ payload }) => payload.data.platform_message_id);
  t.same(await ids(tenant.id), ["wamid.mine"]);
  t.same(await ids(other.id), ["wamid.other"]);
  t.match(
    api.lines.find(({ event }) => event === "webhook.received"),
    { updates: 7, recorded: 2, unknown_asset: 3, ignored: 2, unknown_assets: "number 999, number ?" },
  );
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const { text: metrics } = await api.call("GET", "/metrics", { headers });
  for (const [outcome, count] of Object.entries({ recorded: 2, unknown_asset: 3 }))
    t.match(
      metrics,
      new RegExp(`herald_platform_updates_total\\{.*outcome="${outcome}".*\\} ${count}$`, "m"),
    );
});

t.test("a disconnected channel records no further messages", async (t) => {
  const { api, tenant, channelId, wabaId, phoneNumberId } = await startWithChannel(t);
  const { headers } = await tenant.createKey("webhooks:manage");
  await api.call("DELETE", `/api/channels/${channelId}`, { headers });
  await sendWebhook(api, chatWebhook(wabaId, phoneNumberId, [textMessage("wamid.1")]));
  t.same(
    (await readClientEvents(api, tenant.id)).map(({ type }) => type),
    ["channel.disconnected"],
  );
});

t.test("the webhook configuration at recording time decides whether an event is delivered", async (t) => {
  const { api, tenant, wabaId, phoneNumberId } = await startWithChannel(t);
  const configure = (url: string | null, disabled: string[]) =>
    api.db.query(
      "insert into webhook_configs (client_id, webhook_url, disabled_keys) values ($1, $2, $3) on conflict (client_id) do update set webhook_url = $2, disabled_keys = $3",
      [tenant.id, url, disabled],
    );
  const send = (id: string) => sendWebhook(api, chatWebhook(wabaId, phoneNumberId, [textMessage(id)]));
  await send("wamid.1");
  await configure("https://backend.example.com", ["photoapp"]);
  await send("wamid.2");
  await configure("https://backend.example.com", ["chatapp"]);
  await send("wamid.3");
  await configure(null, ["chatapp"]);
  await send("wamid.4");
  const states = (await readClientEvents(api, tenant.id)).map(({ state, skip_reason }) => [
    state,
    skip_reason,
  ]);
  t.same(states, [
    ["skipped", "not_configured"],
    ["pending", null],
    ["skipped", "disabled"],
    ["skipped", "disabled"],
  ]);
});

t.test("a signed body that is not JSON gets 400; one without updates records nothing", async (t) => {
  const { api } = await startWithChannel(t);
  for (const raw of [
    "",
    "not json",
    "[]",
    "5",
    "null",
    '{"a":1',
    Buffer.from([0x7b, 0xff, 0x7d]),
    "\u0000",
  ]) {
    const reply = await sendWebhook(api, raw);
    t.match(reply, { status: 400, body: { error: "validation_failed" } }, String(raw));
  }
  t.equal(api.lines.filter(({ event }) => event === "webhook.parse_failed").length, 8);
  for (const webhook of [
    {},
    { object: "page", entry: [] },
    { object: "page", entry: [null, {}, { id: "1", messaging: [null] }] },
    { entry: { a: 1 } },
  ])
    t.equal((await sendWebhook(api, webhook)).status, 200, JSON.stringify(webhook));
  t.equal(await countEvents(api), 0);
});

t.test("a webhook of 5 MB is refused, one of 3 MB is accepted", async (t) => {
  const { api, tenant, wabaId, phoneNumberId } = await startWithChannel(t);
  const webhook = (size: number) =>
    chatWebhook(wabaId, phoneNumberId, [textMessage("wamid.1", "x".repeat(size))]);
  t.match(await sendWebhook(api, webhook(5_000_000)), { status: 413, body: { error: "payload_too_large" } });
  t.equal(await countEvents(api), 0);
  t.equal((await sendWebhook(api, webhook(3_000_000))).status, 200);
  t.equal((await readClientEvents(api, tenant.id)).length, 1);
});

t.test("malformed updates do not affect the others in the webhook", async (t) => {
  const { api, tenant, wabaId, phoneNumberId } = await startWithChannel(t);
  const deep = `${"[".repeat(9_000)}"\\u0000"${"]".repeat(9_000)}`;
  const oddMessages = [
    `{"id":"wamid.deep","type":"text","text":${deep}}`,
    '{"id":"\\u0000","from":"\\ud800","type":"\\u0000","timestamp":"99999999999999999999"}',
    '{"id":12345678901234567890,"type":"text","text":12345678901234567890}',
    "null",
    "{}",
    '{"id":{"a":1},"type":[]}',
    '{"__proto__":{"id":"x"},"id":"wamid.proto","type":"__proto__"}',
  ];
  const goodMessages = ["wamid.a", "wamid.b"].map((id) => textMessage(id));
  const raw = chatWebhook(wabaId, phoneNumberId, [
    goodMessages[0] as string,
    ...oddMessages,
    goodMessages[1] as string,
  ]);
  t.equal((await sendWebhook(api, raw)).status, 200);
  const events = await readClientEvents(api, tenant.id);
  t.equal(events.length, oddMessages.length + 2);
  for (const one of oddMessages)
    t.ok(
      events.some((event) => event.text.endsWith(`"raw":${one}}`)),
      one.slice(0, 60),
    );
  t.same(events.filter(({ payload }) => /^wamid.[ab]$/.test(payload.data.platform_message_id)).length, 2);
});

t.test("an update of more than 10,000 levels is forwarded raw, and the others are read", async (t) => {
  const { api, tenant, channelId, wabaId, phoneNumberId } = await startWithChannel(t);
  const deep = `${"[".repeat(100_000)} 12345678901234567890${"]".repeat(100_000)}`;
  const deepWebhook = chatWebhook(wabaId, phoneNumberId, [
    `{"id":"wamid.deep","type":"text","text":${deep}}`,
    textMessage("wamid.beside"),
  ]);
  const value = deepWebhook.slice(deepWebhook.indexOf('{"messaging_product"'), -"}]}]}".length);
  const change = `{"field":"messages","value":${value}}`;
  const good = chatWebhook(wabaId, phoneNumberId, [textMessage("wamid.good")]);
  t.equal((await sendWebhook(api, good.replace('"changes":[', `"changes":[${change},`))).status, 200);
  const events = await readClientEvents(api, tenant.id);
  t.match(
    events.map(({ type, channel_id }) => [type, channel_id]),
    [
      ["platform.event", channelId],
      ["message.received", channelId],
    ],
  );
  t.ok(events[0]?.text.endsWith(`"data":{"field":"messages","value":${value}},"raw":${value}}`));
  t.equal(events[1]?.payload.data.platform_message_id, "wamid.good");
  const { headers } = await tenant.createKey("webhooks:manage");
  const read = await api.call("GET", `/api/webhooks/events/${events[0]?.id}`, { headers });
  t.same([read.status, read.body.payload.data.field], [200, "messages"]);
  const unclosed = good.replace('"changes":[', `"changes":[${change.replace("]]", "]}")},`);
  t.match(await sendWebhook(api, unclosed), { status: 400, body: { error: "validation_failed" } });
});

t.test("invalid UTF-8 in one text does not affect the other updates", async (t) => {
  const { api, tenant, wabaId, phoneNumberId } = await startWithChannel(t);
  const webhook = Buffer.from(
    chatWebhook(wabaId, phoneNumberId, [textMessage("wamid.a", "@@"), textMessage("wamid.b")]),
  );
  webhook.set([0xed, 0xa0], webhook.indexOf("@@"));
  t.equal((await sendWebhook(api, webhook)).status, 200);
  t.equal((await readClientEvents(api, tenant.id)).length, 2);
});

t.test("a webhook with 1,000 updates runs two statements", async (t) => {
  const { statements, database } = watchStatements();
  const { api, tenant, wabaId, phoneNumberId } = await startWithChannel(t, { database });
  const messages = Array.from({ length: 1_000 }, (_, index) => textMessage(`wamid.${index}`));
  statements.length = 0;
  t.equal((await sendWebhook(api, chatWebhook(wabaId, phoneNumberId, messages))).status, 200);
  t.equal(statements.length, 2);
  const events = await readClientEvents(api, tenant.id);
  t.same(
    events.map(({ payload }) => payload.data.platform_message_id),
    messages.map((_, index) => `wamid.${index}`),
    "events keep the order of the updates",
  );
});

t.test("the platform gets 503 with Retry-After while the database is unavailable", async (t) => {
  let isUnavailable = false;
  const { api, tenant, wabaId, phoneNumberId } = await startWithChannel(t, {
    database: (real) => ({
      ...real,
      query: (statement, values) => {
        if (!isUnavailable || !JSON.stringify(statement).includes("event_fingerprints"))
          return real.query(statement, values);
        return Promise.reject(new DatabaseUnavailable(new Error("test")));
      },
    }),
  });
  const raw = chatWebhook(wabaId, phoneNumberId, [textMessage("wamid.1")]);
  isUnavailable = true;
  const reply = await sendWebhook(api, raw);
  t.match(reply, { status: 503, body: { error: "temporarily_unavailable" } });
  t.ok(reply.headers.get("retry-after"));
  isUnavailable = false;
  t.equal((await sendWebhook(api, raw)).status, 200);
  t.equal((await readClientEvents(api, tenant.id)).length, 1);
});

t.test("a platform time in the future does not put the event into the future", async (t) => {
  const { api, tenant, wabaId, phoneNumberId } = await startWithChannel(t);
  const futureMessage = textMessage("wamid.1").replace(
    "1790000000",
    String(Math.floor(Date.now() / 1000) + 86_400),
  );
  await sendWebhook(api, chatWebhook(wabaId, phoneNumberId, [futureMessage]));
  const [event] = await readClientEvents(api, tenant.id);
  t.ok(Date.parse(event?.payload.occurred_at) <= Date.now());
});

t.test("the log lists the messages and events of a webhook, at most 100 per line", async (t) => {
  const { api, tenant, phoneNumberId } = await startWithChannel(t);
  const messages: string[] = [];
  for (let count = 0; count < 101; count++)
    messages.push(
      await insertMessage(api, tenant, { status: "accepted", platform_message_id: `wamid.${count}` }),
    );
  const statusOf = (index: number) => ({
    id: `wamid.${index}`,
    status: "delivered",
    timestamp: "1790000000",
    recipient_id: "1",
    biz_opaque_callback_data: messages[index],
  });
  const send = async (...indexes: number[]) => {
    const { headers } = await sendWebhook(api, statusWebhook(phoneNumberId, indexes.map(statusOf)));
    const request_id = headers.get("x-request-id");
    return api.lines.filter(
      (one) => String(one.event).startsWith("webhook.") && one.request_id === request_id,
    );
  };
  const [first, ...none] = await send(0);
  t.match(first, { message_ids: messages[0], event_ids: /^evt_\w{26}$/, recorded: 1 });
  t.same(none, []);
  t.match(await send(0), [{ message_ids: messages[0], event_ids: undefined, duplicate: 1 }], "a repetition");
  const [received, continued] = await send(...messages.keys());
  t.match([received?.event, continued?.event], ["webhook.received", "webhook.continued"]);
  const idsOf = (field: string) =>
    [received, continued].flatMap((line) => String(line?.[field] ?? "").split(","));
  t.same(idsOf("message_ids").sort(), messages.sort());
  t.equal(String(received?.message_ids).split(",").length, 100);
  t.equal(idsOf("event_ids").filter(Boolean).length, 100, "one was recorded before");
});
