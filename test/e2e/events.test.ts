import t from "tap";
import { startTogether, type Together } from "../fixtures/together.ts";
import { until } from "../fixtures/until.ts";

const newestOf =
  ({ api }: Together) =>
  async () =>
    (await api("GET", "/api/webhooks/events?limit=1")).body.data[0];

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

    await api("PATCH", "/api/webhooks/dispatch/chatapp", { enabled: false });
    await write("and again");
    const skipped = await until("the next one", async () => {
      const found = await newest();
      return found.id === event.id ? undefined : found;
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
