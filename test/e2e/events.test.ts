import t, { type Test } from "tap";
import type { Fields } from "../../src/runtime/logging/log.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import {
  type LocalCluster,
  type RecordedRequest,
  startLocalCluster,
} from "../fixtures/processes/local-cluster.ts";
import { until } from "../fixtures/until.ts";

const createNewestReader =
  ({ callApi }: LocalCluster) =>
  async () =>
    (await callApi("GET", "/api/webhooks/events?limit=1")).body.data[0];

/** Checks that the client gets the outcomes of a text, an undeliverable image and a rejected template. */
async function checkReportedOutcomes(t: Test, { callApi, inbox }: LocalCluster): Promise<void> {
  const [{ channel_id }] = (await callApi("GET", "/api/channels?platform=chatapp")).body.data;
  const send = async (message: object) =>
    (await callApi("POST", "/api/outbound/send", { channel_id, ...message })).body.message_id as string;
  const text = await send({ to: "5511988887777", type: "text", text: { body: "Olá" } });
  const link = "https://example.com/a.png";
  const image = await send({ to: "5511988880000", type: "image", image: { link } });
  const components = [{ type: "BODY", text: "Buy" }];
  const template_data = { name: "reject_me", language: "en", category: "MARKETING", components };
  const submitted = await callApi("POST", "/api/templates/submit", { channel_id, template_data });
  t.match(submitted.body, { externalCode: 200, status: "PENDING", name: "reject_me" });

  const untilReported = (data: Record<string, unknown>) =>
    until(`an event with ${JSON.stringify(data)} arrives`, async () => {
      const isMatch = (reported: Record<string, unknown>) =>
        Object.entries(data).every(([name, value]) => reported[name] === value);
      return (await inbox()).find(({ body }) => isMatch(body.data));
    });
  await untilReported({ message_id: text, outcome: "accepted" });
  await untilReported({ message_id: text, status: "delivered" });
  await untilReported({ message_id: image, status: "failed" });
  const rejected = await untilReported({ name: "reject_me", status: "REJECTED" });
  t.equal(rejected.path, "/_sandbox/inbox/chat/updateTemplateStatus");
  const failed = (await callApi("GET", `/api/outbound/messages/${image}`)).body;
  t.match(failed, { status: "failed", error: { code: 131026 }, platform_message_id: /^wamid/ });
}

const RECIPIENT = "5511988887777";
const TEXT = "a text that no log contains";

/** The fields that identify a step of a message. */
const stepOf = ({ process, event, status, outcome, route, type }: Fields) =>
  [process, event, type, outcome ?? status, route].filter((value) => value !== undefined).join(" ");

const MESSAGE_STEPS = [
  "web http.request 202 /api/outbound/send",
  "dispatcher platform.called done",
  "dispatcher message.sent text accepted",
  "web webhook.received",
  "dispatcher delivery.attempted message.send_result delivered",
  "dispatcher delivery.attempted message.status delivered",
];

/** True when the lines of both processes have arrived: the one that delivers an event may log before the one that recorded it. */
function isComplete(lines: readonly Fields[]): boolean {
  const steps = new Set(lines.map(stepOf));
  const deliveries = lines.filter(
    (line) => line.event === "delivery.attempted" && line.outcome === "delivered",
  );
  const recorded = recordedEvents(lines);
  return (
    MESSAGE_STEPS.every((step) => steps.has(step)) &&
    deliveries.length >= 3 &&
    deliveries.every(({ type, event_id }) => type !== "message.status" || recorded.includes(String(event_id)))
  );
}

/** Ids of the events that webhooks have recorded. */
const recordedEvents = (lines: readonly Fields[]): string[] =>
  lines.flatMap(({ event, event_ids }) => (event === "webhook.received" ? String(event_ids).split(",") : []));

/** Sends a message and returns its id and the log lines that contain it, up to the deliveries of its last status. */
async function sendAndFollow({ web, dispatcher, callApi }: LocalCluster) {
  const [{ channel_id }] = (await callApi("GET", "/api/channels?platform=chatapp")).body.data;
  const message = { channel_id, to: RECIPIENT, type: "text", text: { body: TEXT } };
  const sent = await callApi("POST", "/api/outbound/send", message, { "x-request-id": "order-1042" });
  const id = sent.body.message_id as string;
  const lines = await until("its result, `sent` and `delivered` are delivered, and all is logged", () => {
    const written = [web, dispatcher].flatMap((each) => each.stdout().split("\n"));
    const found = written
      .filter((line) => line.includes(id) && line.endsWith("}"))
      .map((line) => JSON.parse(line) as Fields);
    return isComplete(found) ? found : undefined;
  });
  return { id, lines };
}

async function checkFollowedMessage(t: Test, cluster: LocalCluster): Promise<void> {
  const { web, dispatcher, callApi, settings } = cluster;
  const { id, lines } = await sendAndFollow(cluster);
  const steps = new Set(lines.map(stepOf));
  for (const step of MESSAGE_STEPS) t.ok(steps.has(step), step);
  const webhooks = lines.filter(({ event }) => event === "webhook.received");
  t.match(webhooks[0], { request_id: /^req_/, message_ids: id, event_ids: /^evt_/ });
  const recorded = recordedEvents(lines);
  for (const { event_id, type } of lines)
    if (type === "message.status") t.ok(recorded.includes(String(event_id)), "its webhook names the event");
  t.match(
    lines.find(({ event }) => event === "http.request"),
    { request_id: "order-1042", pid: web.child.pid },
  );
  t.ok(lines.every(({ pid }) => pid === web.child.pid || pid === dispatcher.child.pid));
  t.notMatch(JSON.stringify(lines), new RegExp(`${TEXT}|${RECIPIENT}`));

  const typesOf = (entries: { type: string }[]) => entries.map(({ type }) => type);
  const data = await until("the outcomes of its deliveries are written", async () => {
    const entries = (await callApi("GET", `/api/outbound/messages/${id}/timeline`)).body.data;
    return typesOf(entries).filter((type) => type === "delivery_attempt").length >= 3 ? entries : undefined;
  });
  t.match(data[0], { type: "accepted", request_id: "order-1042" });
  const types = typesOf(data);
  for (const type of ["platform_attempt", "status", "event", "delivery_attempt"])
    t.ok(types.includes(type), type);
  const { json } = await createCommandRunner(t, settings)(["message", "show", id, "--json"]);
  t.match(json, { message: { message_id: id }, timeline: data.slice(0, 5) });
}

for (const runtime of ["node", "deno"] as const)
  t.test(`a received message is in the event history and in the inbox, under ${runtime}`, async (t) => {
    const cluster = await startLocalCluster(t, { runtime });
    const { callApi, sendInboundMessage, inbox } = cluster;
    const readNewest = createNewestReader(cluster);
    t.equal((await sendInboundMessage("Olá")).status, 202);
    const event = await until("the message is delivered", async () => {
      const found = await readNewest();
      return found?.status === "delivered" ? found : undefined;
    });
    t.match(event, { type: "message.received", key: "chatapp", attempts: 1, skip_reason: null });
    const { payload } = (await callApi("GET", `/api/webhooks/events/${event.id}`)).body;
    t.match(payload, {
      channel_id: event.channel_id,
      data: { from: { phone: "5511988887777" }, type: "text", content: { body: "Olá" } },
      raw: { from: "5511988887777", type: "text", text: { body: "Olá" } },
    });
    t.match(await inbox(), [
      { path: "/_sandbox/inbox/chat/receiveMessage", headers: { "webhook-id": event.id }, body: payload },
    ]);

    await checkReportedOutcomes(t, cluster);
    await t.test("a sent message is found by its id in the logs, the timeline and the command line", (t) =>
      checkFollowedMessage(t, cluster),
    );

    await callApi("PATCH", "/api/webhooks/dispatch/chatapp", { enabled: false });
    await sendInboundMessage("and again");
    const skipped = await until("the next event is recorded", async () => {
      const { data } = (await callApi("GET", "/api/webhooks/events?type=message.received&limit=1")).body;
      return data[0].id === event.id ? undefined : data[0];
    });
    t.match(skipped, { status: "skipped", skip_reason: "disabled" });
    t.match(await callApi("POST", `/api/webhooks/events/${skipped.id}/retry`), {
      status: 200,
      body: { redispatched: false, status: "skipped" },
    });

    const { webhook_secret } = (await callApi("POST", "/api/webhooks/config/generate-secret")).body;
    const tested = await callApi("POST", "/api/webhooks/test", { key: "chatapp" });
    t.match(tested.body, { delivered: true, status_code: 200, error: null });
    const isTestEvent = ({ headers }: RecordedRequest) => headers["webhook-id"] === tested.body.event_id;
    t.match((await inbox()).find(isTestEvent), {
      path: "/_sandbox/inbox/chat",
      headers: { "x-webhook-token": webhook_secret },
      body: { type: "webhook.test", key: "chatapp", data: {} },
    });
  });
