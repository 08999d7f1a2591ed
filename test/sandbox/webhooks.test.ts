import { createHmac } from "node:crypto";
import { setImmediate as settled } from "node:timers/promises";
import type { Test } from "tap";
import t from "tap";
import { createWebhookOrder } from "../../src/sandbox/webhooks.ts";
import {
  callSandbox,
  type RunningSandbox,
  SANDBOX_SETTINGS,
  startSandbox,
  startWebhookReceiver,
} from "../fixtures/sandbox/sandbox.ts";
import { until } from "../fixtures/until.ts";

const APP = SANDBOX_SETTINGS.PLATFORM_APP_ID;
const APP_TOKEN = `${APP}|${SANDBOX_SETTINGS.PLATFORM_APP_SECRET}`;

/** A pace so slow that no timer of the sandbox ends during a test. */
const NO_TIMER_PACE = 1_000;

/** Starts a sandbox and the service that receives its webhooks. */
async function startWithService(t: Test, pace?: number) {
  const service = await startWebhookReceiver(t);
  const sandbox = await startSandbox(t, {
    settings: { PUBLIC_URL: service.url },
    ...(pace === undefined ? {} : { pace }),
  });
  return { service, sandbox, ids: () => service.received.map(({ body }) => body.entry[0].id) };
}

const sendWebhook = ({ origin }: RunningSandbox, id: string) =>
  callSandbox(`${origin}/_sandbox/webhook`, {
    json: { object: "ad_account", entry: [{ id, time: 1, changes: [] }] },
  });

const arm = ({ origin }: RunningSandbox, fault: object) =>
  callSandbox(`${origin}/_sandbox/faults`, { json: fault });

t.test("any webhook can be sent: signed, escaped, with long integers unchanged", async (t) => {
  const { service, sandbox } = await startWithService(t);
  const webhookJson =
    '{"object":"page","entry":[{"id":"1","changes":[{"value":{"leadgen_id":444444444444444444444,"name":"São"}}]}]}';
  const answer = await callSandbox(`${sandbox.origin}/_sandbox/webhook`, { body: webhookJson });
  t.match(answer, { status: 202, body: { sent: true } });
  const webhook = await until("arrived", () => service.received[0]);
  t.equal(webhook.path, "/platform/webhook");
  t.equal(webhook.raw, webhookJson.replace("ã", "\\u00e3"));
  const signature = createHmac("sha256", SANDBOX_SETTINGS.PLATFORM_APP_SECRET)
    .update(webhook.raw)
    .digest("hex");
  t.equal(webhook.headers["x-hub-signature-256"], `sha256=${signature}`);
});

t.test("an invalid webhook is refused with the name of its field", async (t) => {
  const { origin } = await startSandbox(t);
  const entry = [{ id: "1" }];
  for (const [json, message] of [
    [{ entry }, /object is required/],
    [{ object: "cat", entry }, /object must be one of whatsapp_business_account/],
    [{ object: "page", entry: [] }, /entry must have at least 1 item/],
    [{ object: "page", entry: [{ id: 1 }] }, /entry.0.id must be a string/],
  ] as const)
    t.match(await callSandbox(`${origin}/_sandbox/webhook`, { json }), {
      status: 400,
      body: { error: { message } },
    });
});

t.test("a webhook is retried until it is accepted", async (t) => {
  const { service, sandbox } = await startWithService(t);
  service.setStatus(500);
  await sendWebhook(sandbox, "1");
  await until("refused twice", () => service.received.length >= 2);
  service.setStatus(200);
  const before = service.received.length;
  await until("taken", () => service.received.length === before + 1);
  t.equal(new Set(service.received.map(({ raw }) => raw)).size, 1, "every attempt has the same body");
});

t.test("duplicate_webhook sends a webhook twice", async (t) => {
  const { sandbox, ids } = await startWithService(t);
  await arm(sandbox, { kind: "duplicate_webhook", times: 2 });
  for (const id of ["1", "2", "3"]) {
    await sendWebhook(sandbox, id);
    await until(`${id} arrived`, () => ids().filter((other) => other === id).length === (id === "3" ? 1 : 2));
  }
  t.same(ids(), ["1", "1", "2", "2", "3"]);
});

t.test("reorder_webhook sends webhooks after the next one", async (t) => {
  const { sandbox, ids } = await startWithService(t, NO_TIMER_PACE);
  await arm(sandbox, { kind: "reorder_webhook", times: 2 });
  for (const id of ["1", "2", "3"]) await sendWebhook(sandbox, id);
  await until("all arrived", () => ids().length === 3);
  t.same(ids(), ["3", "2", "1"]);
});

t.test("a reordered webhook without a successor is sent after a delay", async (t) => {
  const { sandbox, ids } = await startWithService(t);
  await arm(sandbox, { kind: "reorder_webhook" });
  await sendWebhook(sandbox, "1");
  await until("arrived", () => ids().length === 1);
});

t.test("the timer of a reordered webhook does not send another one early", async (t) => {
  const [sent, timers]: [string[], (() => void)[]] = [[], []];
  let shouldReorder = false;
  const order = createWebhookOrder<{ name: string }>({
    faults: { takeForWebhook: (kind) => kind === "reorder_webhook" && shouldReorder },
    deliver: async ({ name }) => void sent.push(name),
    schedule: (_, work) => void timers.push(work),
  });
  for (const name of ["late 1", "next", "late 2"]) {
    shouldReorder = name.startsWith("late");
    order({ name });
    await settled();
  }
  t.same(sent, ["next", "late 1"]);
  timers[0]?.();
  await settled();
  t.same(sent, ["next", "late 1"], "the first webhook was already sent when its timer fires");
  timers[1]?.();
  await settled();
  t.same(sent, ["next", "late 1", "late 2"]);
});

t.test("call faults and webhook faults are independent", async (t) => {
  const { sandbox, ids } = await startWithService(t);
  await arm(sandbox, { kind: "duplicate_webhook" });
  await arm(sandbox, { kind: "error", code: 1 });
  await sendWebhook(sandbox, "1");
  await until("arrived twice", () => ids().length === 2);
  t.equal((await callSandbox(`${sandbox.base}/${APP}`, { token: APP_TOKEN })).body.error.code, 1);
});

const sendInbound = ({ origin }: RunningSandbox, json: object) =>
  callSandbox(`${origin}/_sandbox/inbound`, { json });

t.test("a message to any channel reaches the service", async (t) => {
  const { service, sandbox } = await startWithService(t);
  const channels = {
    "1400000000000301": "whatsapp_business_account",
    "1300000000000401": "page",
    "1200000000000501": "instagram",
  };
  for (const [channel, object] of Object.entries(channels)) {
    const answer = await sendInbound(sandbox, { channel, from: "5511988887777", type: "text" });
    t.match(answer, { status: 202, body: { sent: true } }, object);
    await until(`${object} arrived`, () => service.received.at(-1)?.body.object === object);
  }
});

t.test("a message to a channel without a subscription sends no webhook", async (t) => {
  const { service, sandbox } = await startWithService(t);
  const waba = `${sandbox.base}/1500000000000201/subscribed_apps`;
  await callSandbox(waba, { method: "DELETE", token: "EAASandboxDemoChat" });
  const message = { from: "5511988887777", type: "text" };
  t.match(await sendInbound(sandbox, { ...message, channel: "1400000000000301" }), { body: { sent: false } });
  await sendInbound(sandbox, { ...message, channel: "1300000000000401" });
  await until("the other message arrived", () => service.received.length === 1);
  t.equal(service.received[0]?.body.object, "page");
});

t.test("an invalid message is refused", async (t) => {
  const sandbox = await startSandbox(t);
  const message = { channel: "1400000000000301", from: "5511988887777", type: "text" };
  t.match(await sendInbound(sandbox, { ...message, channel: "1" }), {
    status: 404,
    body: { error: { message: "There is no channel 1" } },
  });
  t.match(await sendInbound(sandbox, { ...message, type: "smell" }), {
    status: 400,
    body: { error: { message: /type must be one of/ } },
  });
  t.match(await sendInbound(sandbox, { ...message, channel: 1 }), {
    status: 400,
    body: { error: { message: "channel must be a string" } },
  });
  const incomplete = await sendInbound(sandbox, { channel: "1" });
  t.match(incomplete.body.error.details, [{ path: "/from" }, { path: "/type" }]);
});
