import t, { type Test } from "tap";
import type { Runtime } from "../../src/local/process-commands.ts";
import { freePort } from "../../src/local/server-process.ts";
import { commandLine } from "../fixtures/command-line.ts";
import { startProcess, startWeb } from "../fixtures/processes.ts";
import { testSettings } from "../fixtures/settings.ts";
import { until } from "../fixtures/until.ts";

const NUMBER = "1400000000000301";

/** Web, dispatcher and sandbox as they run for a developer, and a client whose backend is the sandbox's inbox. */
async function startTogether(t: Test, runtime: Runtime) {
  const [PORT, SANDBOX_PORT] = [String(await freePort()), String(await freePort())];
  const settings = await testSettings(t, { PORT, SANDBOX_PORT, PRIVATE_DESTINATIONS: "127.0.0.0/8,::1/128" });
  const sandbox = startProcess(t, "sandbox", settings, { runtime });
  const dispatcher = startProcess(t, "dispatcher", settings, { runtime });
  const web = await startWeb(t, settings, { runtime });
  await sandbox.line("process.ready");
  await dispatcher.line("process.ready");
  const { api_key } = (await commandLine(t, settings)(["demo", "--json"])).json;
  const headers = { "x-svc-api-key": api_key };
  const api = (method: string, path: string, json?: object) => web.call(method, path, { headers, json });
  const origin = `http://localhost:${SANDBOX_PORT}`;
  const write = (body: string) =>
    fetch(`${origin}/_sandbox/inbound`, {
      method: "POST",
      body: JSON.stringify({ channel: NUMBER, from: "5511988887777", type: "text", content: { body } }),
    });
  const inbox = async () =>
    ((await (await fetch(`${origin}/_sandbox/inbox`)).json()) as { data: object[] }).data;
  const newest = async () => (await api("GET", "/api/webhooks/events?limit=1")).body.data[0];
  return { api, write, newest, inbox };
}

for (const runtime of ["node", "deno"] as const)
  t.test(`what somebody writes is in the history and in the inbox, under ${runtime}`, async (t) => {
    const { api, write, newest, inbox } = await startTogether(t, runtime);
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
