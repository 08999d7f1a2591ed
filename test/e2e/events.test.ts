import t, { type Test } from "tap";
import { startTogether, type Together } from "../fixtures/processes/local-cluster.ts";
import { until } from "../fixtures/until.ts";

const newestOf =
  ({ api }: Together) =>
  async () =>
    (await api("GET", "/api/webhooks/events?limit=1")).body.data[0];

/** A text, an image that cannot be delivered, and a template that is refused: what becomes of each is told to the client. */
async function comesBack(t: Test, { api, inbox }: Together): Promise<void> {
  const [{ channel_id }] = (await api("GET", "/api/channels?platform=chatapp")).body.data;
  const send = async (message: object) =>
    (await api("POST", "/api/outbound/send", { channel_id, ...message })).body.message_id as string;
  const text = await send({ to: "5511988887777", type: "text", text: { body: "Olá" } });
  const link = "https://example.com/a.png";
  const image = await send({ to: "5511988880000", type: "image", image: { link } });
  const components = [{ type: "BODY", text: "Buy" }];
  const template_data = { name: "reject_me", language: "en", category: "MARKETING", components };
  const submitted = await api("POST", "/api/templates/submit", { channel_id, template_data });
  t.match(submitted.body, { externalCode: 200, status: "PENDING", name: "reject_me" });

  const untilTold = (data: Record<string, unknown>) =>
    until(`told of ${JSON.stringify(data)}`, async () => {
      const isSo = (told: Record<string, unknown>) =>
        Object.entries(data).every(([name, value]) => told[name] === value);
      return (await inbox()).find(({ body }) => isSo(body.data));
    });
  await untilTold({ message_id: text, outcome: "accepted" });
  await untilTold({ message_id: text, status: "delivered" });
  await untilTold({ message_id: image, status: "failed" });
  const rejected = await untilTold({ name: "reject_me", status: "REJECTED" });
  t.equal(rejected.path, "/_sandbox/inbox/chat/updateTemplateStatus");
  const failed = (await api("GET", `/api/outbound/messages/${image}`)).body;
  t.match(failed, { status: "failed", error: { code: 131026 }, platform_message_id: /^wamid/ });
}

for (const runtime of ["node", "deno"] as const)
  t.test(`what somebody writes is in the history and in the inbox, under ${runtime}`, async (t) => {
    const together = await startTogether(t, { runtime });
    const { api, write, inbox } = together;
    const newest = newestOf(together);
    t.equal((await write("Olá")).status, 202);
    const event = await until("the message is delivered", async () => {
      const found = await newest();
      return found?.status === "delivered" ? found : undefined;
    });
    t.match(event, { type: "message.received", key: "chatapp", attempts: 1, skip_reason: null });
    const { payload } = (await api("GET", `/api/webhooks/events/${event.id}`)).body;
    t.match(payload, {
      channel_id: event.channel_id,
      data: { from: { phone: "5511988887777" }, type: "text", content: { body: "Olá" } },
      raw: { from: "5511988887777", type: "text", text: { body: "Olá" } },
    });
    t.match(await inbox(), [
      { path: "/_sandbox/inbox/chat/receiveMessage", headers: { "webhook-id": event.id }, body: payload },
    ]);

    await comesBack(t, together);

    await api("PATCH", "/api/webhooks/dispatch/chatapp", { enabled: false });
    await write("and again");
    const skipped = await until("the next one", async () => {
      const { data } = (await api("GET", "/api/webhooks/events?type=message.received&limit=1")).body;
      return data[0].id === event.id ? undefined : data[0];
    });
    t.match(skipped, { status: "skipped", skip_reason: "disabled" });
    t.match(await api("POST", `/api/webhooks/events/${skipped.id}/retry`), {
      status: 200,
      body: { redispatched: false, status: "skipped" },
    });

    const { webhook_secret } = (await api("POST", "/api/webhooks/config/generate-secret")).body;
    const tested = await api("POST", "/api/webhooks/test", { key: "chatapp" });
    t.match(tested.body, { delivered: true, status_code: 200, error: null });
    t.match((await inbox())[0], {
      path: "/_sandbox/inbox/chat",
      headers: { "x-webhook-token": webhook_secret, "webhook-id": tested.body.event_id },
      body: { type: "webhook.test", key: "chatapp", data: {} },
    });
  });
