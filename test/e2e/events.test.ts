import t, { type Test } from "tap";
import { type LocalCluster, startLocalCluster } from "../fixtures/processes/local-cluster.ts";
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
    t.match((await inbox())[0], {
      path: "/_sandbox/inbox/chat",
      headers: { "x-webhook-token": webhook_secret, "webhook-id": tested.body.event_id },
      body: { type: "webhook.test", key: "chatapp", data: {} },
    });
  });
