import type { Socket } from "node:net";
import { Webhook } from "standardwebhooks";
import t from "tap";
import { deleteClient } from "../../../src/domain/tenants/delete-client.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import { timeOfId } from "../../../src/runtime/ids.ts";
import { startBackend, startTcpBackend } from "../../fixtures/events/backends.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { startWebhookReceiver } from "../../fixtures/sandbox/webhook-receiver.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const OK_RESPONSE = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

async function testRouteOf(api: Api) {
  const tenant = await makeTenant(api);
  const { headers } = await tenant.createKey("webhooks:manage");
  const rows = <Row extends object>(table: string) =>
    api.db.query<Row>(`select * from ${table} where client_id = $1 order by id`, [tenant.id]);
  return {
    tenant,
    send: (json?: unknown) => api.call("POST", "/api/webhooks/test", { headers, json }),
    configure: (json: unknown) => api.call("PATCH", "/api/webhooks/config", { headers, json }),
    disableKey: (key: string) =>
      api.call("PATCH", `/api/webhooks/dispatch/${key}`, { headers, json: { enabled: false } }),
    generate: (json: unknown) => api.call("POST", "/api/webhooks/config/generate-secret", { headers, json }),
    /** Rows of the client's events, deliveries and attempts. */
    history: async () => ({
      events: await rows("events"),
      deliveries: await rows("deliveries"),
      attempts: await rows("attempts"),
    }),
  };
}

t.test("webhook test event", async (t) => {
  const api = await startApi(t, { settings: { PRIVATE_DESTINATIONS: "127.0.0.0/8" } });

  t.test("a test event without a webhook_url gets 409", async (t) => {
    const { send, configure, history, tenant } = await testRouteOf(api);
    for (const _ of ["never configured", "emptied"]) {
      const reply = await send({ key: "chatapp" });
      t.equal(reply.status, 409);
      t.equal(reply.body.error, "webhook_not_configured");
      await configure({ webhook_url: "https://8.8.8.8", webhook_secret: "x".repeat(16) });
      await configure({ webhook_url: "" });
    }
    t.same(await history(), { events: [], deliveries: [], attempts: [] });
    await configure({ webhook_url: "https://8.8.8.8" });
    await deleteClient(api.db, tenant.id);
    t.equal((await send()).status, 409, "the client is erased");
    t.same((await history()).events, []);
  });

  t.test("a test event is sent to the base URL immediately, signed and recorded", async (t) => {
    const { send, configure, generate, history, tenant } = await testRouteOf(api);
    const backend = await startWebhookReceiver(t);
    const token = (await generate({})).body.webhook_secret;
    await configure({ webhook_url: `${backend.url}/in` });
    const { status, body } = await send();
    const line = api.lines.find(({ event }) => event === "delivery.attempted");
    t.match(line, {
      event: "delivery.attempted",
      client: tenant.id,
      event_id: body.event_id,
      type: "webhook.test",
      outcome: "delivered",
      status: 200,
    });
    t.equal(status, 200);
    t.match(body, { event_id: /^evt_/, delivered: true, status_code: 200, error: null });
    t.equal(backend.received.length, 1);
    const [{ method, path, headers, raw, body: payload }] = backend.received as [
      (typeof backend.received)[number],
    ];
    t.same([method, path], ["POST", "/in"]);
    const { occurred_at, recorded_at, ...rest } = payload;
    t.equal(recorded_at, new Date(timeOfId(body.event_id)).toISOString());
    t.same(rest, { id: body.event_id, type: "webhook.test", api_version: "2026-11-01", key: null, data: {} });
    t.ok(Math.abs(Date.parse(occurred_at) - Date.now()) < 60 * SECOND);
    t.match(headers, {
      "webhook-id": body.event_id,
      "x-webhook-event": "webhook.test",
      "x-webhook-attempt": "1",
      "x-webhook-token": token,
    });
    t.ok(new Webhook(token).verify(raw, headers as Record<string, string>));

    const { events, deliveries, attempts } = await history();
    t.match(events, [
      {
        id: body.event_id,
        client_id: tenant.id,
        type: "webhook.test",
        key: null,
        channel_id: null,
        is_late: false,
        payload: raw,
        occurred_at: new Date(occurred_at),
      },
    ]);
    t.match(deliveries, [
      {
        id: body.event_id,
        state: "delivered",
        skip_reason: null,
        attempts: 1,
        next_attempt_at: null,
        last_status_code: 200,
        last_error: null,
        url: `${backend.url}/in`,
        delivered_at: Date,
      },
    ]);
    t.match(attempts, [
      {
        id: body.event_id,
        attempt: 1,
        at: Date,
        status_code: 200,
        duration_ms: body.duration_ms,
        error: null,
        response_excerpt: null,
      },
    ]);
  });

  t.test("a test event for a key is sent to the key's URL, even while the key is disabled", async (t) => {
    const { send, configure, disableKey } = await testRouteOf(api);
    const backend = await startWebhookReceiver(t);
    await configure({ webhook_url: backend.url });
    const PATHS = {
      chatapp: "/chat",
      photoapp: "/photo",
      socialapp: "/social",
      marketing: "/marketing/events",
      publishing: "/publishing/events",
      embedded_signup: "/embedded-signup/events",
    };
    for (const [key, path] of Object.entries(PATHS)) {
      if (key !== "embedded_signup") await disableKey(key);
      t.match((await send({ key })).body, { delivered: true }, key);
      t.match(backend.received.at(-1), { path, body: { key } });
    }
    const { headers } = backend.received[0] ?? { headers: {} };
    t.notOk(
      "x-webhook-token" in headers || "webhook-signature" in headers,
      "there is no signature without a token",
    );
  });

  t.test("a test event during a grace period has both signatures", async (t) => {
    const { send, configure, generate } = await testRouteOf(api);
    const backend = await startWebhookReceiver(t);
    await configure({ webhook_url: backend.url });
    const former = (await generate({})).body.webhook_secret;
    const current = (await generate({ grace_minutes: 5 })).body.webhook_secret;
    await send();
    const [{ raw, headers }] = backend.received as [(typeof backend.received)[number]];
    for (const token of [current, former])
      t.ok(new Webhook(token).verify(raw, headers as Record<string, string>));
    t.equal(headers["x-webhook-token"], current);
  });

  t.test("with token_header false, a test event is signed and does not carry the token", async (t) => {
    const { send, configure, generate } = await testRouteOf(api);
    const backend = await startWebhookReceiver(t);
    await configure({ webhook_url: backend.url, token_header: false });
    const token = (await generate({})).body.webhook_secret;
    await send();
    const [{ raw, headers }] = backend.received as [(typeof backend.received)[number]];
    t.notOk(JSON.stringify(headers).includes(token));
    t.ok(new Webhook(token).verify(raw, headers as Record<string, string>));
  });

  t.test("a test event the backend refuses is reported and stays failed", async (t) => {
    const { send, configure, history } = await testRouteOf(api);
    const backend = await startWebhookReceiver(t);
    backend.setStatus(503);
    await configure({ webhook_url: backend.url });
    const { status, body } = await send({ key: "marketing" });
    t.equal(status, 200);
    t.match(body, { delivered: false, status_code: 503, error: "HTTP 503" });
    const { deliveries, attempts } = await history();
    t.match(deliveries, [
      {
        state: "failed",
        attempts: 1,
        last_status_code: 503,
        last_error: "HTTP 503",
        next_attempt_at: null,
        delivered_at: null,
        url: `${backend.url}/marketing/events`,
      },
    ]);
    t.match(attempts, [{ status_code: 503, error: "HTTP 503" }]);
    t.equal(backend.received.length, 1);
  });

  t.test("a test event that reaches no backend is reported and stays failed", async (t) => {
    const { send, configure, history, tenant } = await testRouteOf(api);
    await configure({ webhook_url: "http://127.0.0.1:1" });
    const refused = { delivered: false, status_code: null, error: "connection refused" };
    t.match((await send()).body, refused);
    // Simulates a webhook_url stored under different PRIVATE_DESTINATIONS.
    await api.db.query("update webhook_configs set webhook_url = 'http://10.0.0.1' where client_id = $1", [
      tenant.id,
    ]);
    t.match((await send()).body, { delivered: false, status_code: null, error: "address not allowed" });
    t.match((await history()).deliveries, [
      { state: "failed", last_status_code: null, last_error: "connection refused" },
      { state: "failed", last_error: "address not allowed", url: "http://10.0.0.1" },
    ]);
  });

  t.test("the response excerpt is stored as valid text without the token", async (t) => {
    const { send, configure, history } = await testRouteOf(api);
    const token = "a-token-that-is-echoed";
    const backend = await startTcpBackend(t, (socket) =>
      socket.once("data", () => socket.end(`HTTP/1.1 400 No\r\n\r\ngot \u0000 ${token}`)),
    );
    await configure({ webhook_url: backend.url, webhook_secret: token });
    const reply = await send();
    t.match(reply.body, { error: "HTTP 400" });
    t.match((await history()).attempts, [{ response_excerpt: "got \ufffd [token]" }]);
  });

  t.test("no combination of token and answer blocks the process", async (t) => {
    const { send, configure, history } = await testRouteOf(api);
    const ANSWERS = [
      [`${"\\".repeat(30)}a`, "\\".repeat(80)],
      [`${"\\".repeat(30)}a`, "\\".repeat(2_500)],
      [`${"-".repeat(24)}a`, "-".repeat(80)],
      [`${"%25".repeat(80)}a`, "%25".repeat(2_500)],
    ] as const;
    for (const [token, answer] of ANSWERS) {
      const backend = await startBackend(t, (_request, response) => void response.end(answer));
      const { status } = await configure({ webhook_url: backend.url, webhook_secret: token });
      t.equal(status, 200);
      const reply = await send();
      t.match(reply.body, { delivered: true, status_code: 200 });
      t.ok(reply.body.duration_ms < 10 * SECOND);
    }
    t.match(
      (await history()).attempts,
      ANSWERS.map(([, answer]) => ({ response_excerpt: answer.slice(0, 1_024) })),
    );
  });

  t.test("a test event whose token cannot be decrypted is neither recorded nor sent", async (t) => {
    const { send, configure, history, tenant } = await testRouteOf(api);
    const backend = await startWebhookReceiver(t);
    await configure({ webhook_url: backend.url, webhook_secret: "x".repeat(16) });
    await api.db.query("update webhook_configs set secret_sealed = 'lost.xyz' where client_id = $1", [
      tenant.id,
    ]);
    t.equal((await send()).status, 500);
    t.same(await history(), { events: [], deliveries: [], attempts: [] });
    t.equal(backend.received.length, 0);
  });

  t.test("an invalid key is refused", async (t) => {
    const { send, configure, history } = await testRouteOf(api);
    await configure({ webhook_url: "http://127.0.0.1:1" });
    for (const json of [{ key: "billing" }, { key: null }, { key: "" }, { key: 1 }, { type: "x" }, []]) {
      const reply = await send(json);
      t.equal(reply.status, 400, JSON.stringify(json));
      t.equal(reply.body.error, "validation_failed");
    }
    t.same((await history()).events, []);
  });

  t.test("a test event in flight is in the history and never due", async (t) => {
    const { send, configure, history } = await testRouteOf(api);
    const sockets: Socket[] = [];
    const backend = await startTcpBackend(t, (socket) => socket.once("data", () => sockets.push(socket)));
    await configure({ webhook_url: backend.url });
    const pendingReply = send();
    const socket = await until("the request has arrived", () => sockets[0]);
    // The rows a process would leave if it crashed now.
    const left = await history();
    t.match(left.deliveries, [
      { state: "failed", attempts: 1, last_error: "interrupted", next_attempt_at: null, url: backend.url },
    ]);
    t.match(left.attempts, [{ attempt: 1, status_code: null, error: "interrupted" }]);
    socket.end(OK_RESPONSE);
    t.match((await pendingReply).body, { delivered: true });
    const { deliveries, attempts } = await history();
    t.match(deliveries, [{ state: "delivered", attempts: 1, last_error: null }]);
    t.match(attempts, [{ attempt: 1, status_code: 200, error: null }]);
    t.equal(attempts.length, 1);
  });

  t.test("a test event retried while in flight stays due", async (t) => {
    const { send, configure, history, tenant } = await testRouteOf(api);
    const sockets: Socket[] = [];
    const backend = await startTcpBackend(t, (socket) => socket.once("data", () => sockets.push(socket)));
    await configure({ webhook_url: backend.url });
    const pendingReply = send();
    const socket = await until("the request has arrived", () => sockets[0]);
    await api.db.query("update deliveries set state = 'pending' where client_id = $1", [tenant.id]);
    socket.end(OK_RESPONSE);
    t.match((await pendingReply).body, { delivered: true });
    const { deliveries, attempts } = await history();
    t.match(deliveries, [{ state: "pending" }]);
    t.match(attempts, [{ attempt: 1, status_code: 200, error: null }]);
  });
});
