import type { Socket } from "node:net";
import { Webhook } from "standardwebhooks";
import t from "tap";
import { awaitFirstAttempt } from "../../../src/domain/events/send-test-event.ts";
import { createKey } from "../../../src/domain/tenants/api-keys.ts";
import { deleteClient } from "../../../src/domain/tenants/delete-client.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import { timeOfId } from "../../../src/runtime/ids.ts";
import { EVENT_TYPES, type EventType } from "../../../src/schema/enumerations.ts";
import { EVENT_PAYLOADS } from "../../../src/schema/events/event.ts";
import { startBackend, startTcpBackend } from "../../fixtures/events/backends.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { sendMessage } from "../../fixtures/messages/messages.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { startWebhookReceiver } from "../../fixtures/sandbox/webhook-receiver.ts";
import { rollUp } from "../../fixtures/stats/figures.ts";
import { makeActor } from "../../fixtures/tenants/actors.ts";
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
      events: await rows<{ payload: string }>("events"),
      deliveries: await rows<{ id: string }>("deliveries"),
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
    for (const json of [{ key: "billing" }, { key: null }, { key: "" }, { key: 1 }, { kind: "x" }, []]) {
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

  t.test("an event of every type is recorded like a real one, from the example of its type", async (t) => {
    const { send, history } = await testRouteOf(api);
    const keys: Record<string, unknown> = {};
    for (const type of EVENT_TYPES) {
      const { status, body } = await send({ type, wait: false });
      t.equal(status, 202, type);
      t.same(Object.keys(body), ["event_id"]);
    }
    for (const row of (await history()).events as { type: string; payload: string; key: string | null }[]) {
      keys[row.type] = row.key;
      t.match(row, { channel_id: null, ad_account_id: null, message_id: null }, "the row names no object");
      const { id, recorded_at, occurred_at, ...payload } = JSON.parse(row.payload);
      const [example] = EVENT_PAYLOADS[row.type as EventType].examples as [object];
      t.match({ ...example, key: row.key, test: true }, payload);
      t.same(Object.keys(JSON.parse(row.payload)).slice(0, 3), ["id", "test", "type"]);
    }
    t.match(keys, {
      "message.received": "chatapp",
      "channel.connected": "embedded_signup",
      "lead.created": "marketing",
      "comment.created": "publishing",
      "webhook.test": null,
    });
  });

  t.test("an event with a type that is not delivered says why, without a 409", async (t) => {
    const { send, configure, disableKey, history, tenant } = await testRouteOf(api);
    const skipped = { delivered: false, status_code: null, duration_ms: 0 };
    const unconfigured = await send({ type: "lead.created" });
    t.equal(unconfigured.status, 200);
    t.match(unconfigured.body, { event_id: /^evt_/, ...skipped, error: "not_configured" });
    await configure({ webhook_url: "http://127.0.0.1:1" });
    await disableKey("marketing");
    t.match((await send({ type: "lead.created" })).body, { ...skipped, error: "disabled" });
    t.match((await history()).deliveries, [{ state: "skipped" }, { state: "skipped" }]);
    const { body } = await send({ type: "message.received", wait: false });
    const waited = { id: body.event_id, signals: [], timeoutMs: 1 };
    t.match(await awaitFirstAttempt(api.db, tenant.id, waited), { ...skipped, error: "pending" });
    const other = await makeTenant(api);
    const foreign = { ...waited, id: (await history()).deliveries[0]?.id ?? "" };
    t.match(await awaitFirstAttempt(api.db, other.id, foreign), { error: "pending" });
  });

  t.test("an event with a type changes no message and no channel", async (t) => {
    const { send, history, tenant } = await testRouteOf(api);
    const headers = (await tenant.createKey("messages:send")).headers;
    const id = await sendMessage(api, tenant);
    const read = async () => ({
      message: (await api.call("GET", `/api/outbound/messages/${id}`, { headers })).body,
      timeline: (await api.call("GET", `/api/outbound/messages/${id}/timeline`, { headers })).body,
      channels: (await api.call("GET", "/api/channels", { headers })).body,
    });
    const before = await read();
    const { channel_id } = before.message;
    await send({ type: "message.status", data: { message_id: id, status: "read" }, wait: false });
    await send({ type: "message.send_result", data: { message_id: id, outcome: "rejected" }, wait: false });
    await send({ type: "channel.disconnected", data: { reason: "platform" }, wait: false });
    t.same(await read(), before);
    t.match((await history()).events, [{ payload: id }, { payload: id }, { channel_id: null }]);
    t.not(JSON.parse((await history()).events[2]?.payload ?? "").channel_id, channel_id);
  });

  t.test("an event with a type needs a test key or a user", async (t) => {
    const { send, history, tenant } = await testRouteOf(api);
    const input = { name: "live", scopes: ["webhooks:manage"] as const, expiresAt: null, production: true };
    const { text } = await createKey(api.db, makeActor(tenant.id), input);
    const headers = { "x-svc-api-key": text };
    const live = (json: unknown) => api.call("POST", "/api/webhooks/test", { headers, json });
    for (const wait of [true, false]) {
      const refused = await live({ type: "message.received", wait });
      t.equal(refused.status, 403);
      t.match(refused.body, { error: "test_key_required", documentation: /testing#/ });
    }
    t.equal((await live({ type: "x" })).status, 400);
    t.equal((await live({})).body.error, "webhook_not_configured", "without a type a live key may use it");
    t.same((await history()).events, []);
    for (const role of ["owner", "member"] as const) {
      const user = await tenant.createUser(role);
      const json = { type: "message.received", wait: false };
      t.equal((await api.call("POST", "/api/webhooks/test", { headers: user.headers, json })).status, 202);
    }
    t.equal((await send({ type: "message.received", wait: false })).status, 202);
  });

  t.test("an invalid event with a type is refused", async (t) => {
    const { send, history } = await testRouteOf(api);
    const type = "message.received";
    const nested = JSON.parse(`${'{"a":'.repeat(100)}1${"}".repeat(100)}`);
    const REFUSED: [json: object, message: RegExp][] = [
      [{ type: "message.unknown" }, /type must be one of message\.received, .*webhook\.test/],
      [{ type: null }, /type/],
      [{ data: {} }, /data requires type/],
      [{ wait: false }, /wait requires type/],
      [{ key: "chatapp", wait: true }, /wait requires type/],
      [{ type, data: [] }, /data must be an object/],
      [{ type, data: null }, /data must be an object/],
      [{ type, data: "x" }, /data must be an object/],
      [{ type, wait: "yes" }, /wait/],
      [{ type, channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd" }, /channel_id/],
      [{ type, data: { text: "\u0000" } }, /U\+0000/],
      [{ type, data: nested }, /nested deeper/],
      [{ type, data: { content: "x".repeat(262_144) } }, /data must have at most 262144 bytes/],
      [{ type, key: "marketing" }, /key must be one of chatapp, photoapp, socialapp for the type/],
      [{ type: "template.status_updated", key: "photoapp" }, /key must be one of chatapp for the type/],
    ];
    for (const [json, message] of REFUSED) {
      const { status, body } = await send(json);
      t.equal(status, 400, JSON.stringify(json).slice(0, 100));
      t.match(body, { error: "validation_failed", message });
    }
    t.same((await history()).events, []);
  });

  t.test(
    "events with a type are delivered by the dispatcher, and the first attempt is the answer",
    async (t) => {
      const { send, configure, history, tenant } = await testRouteOf(api);
      await startDispatcher(t, { config: api.config });
      const backend = await startWebhookReceiver(t);
      await configure({ webhook_url: backend.url });
      const { headers } = await tenant.createKey("webhooks:manage");
      const data = `{ "from": { "name": "Zoë" }, "context": { "message_id": "wamid.1" },
      "content": { "n": 12345678901234567890, "__proto__": { "polluted": true }, "list": [1] } }`;
      const raw = `{ "type": "message.received", "key": "photoapp", "data": ${data} }`;
      const { status, body } = await api.call("POST", "/api/webhooks/test", { headers, raw });
      t.equal(status, 200);
      t.match(body, { event_id: /^evt_/, delivered: true, status_code: 200, error: null });
      const [received] = backend.received as [(typeof backend.received)[number]];
      t.equal(received.path, "/photo/receiveMessage");
      t.match(received.body, {
        id: body.event_id,
        test: true,
        type: "message.received",
        key: "photoapp",
        channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd",
        data: {
          from: { id: "5511988887777", name: "Zoë" },
          context: { message_id: "wamid.1" },
          type: "text",
        },
      });
      const content = `"content":{"body":"Oi","n":12345678901234567890,"__proto__":{"polluted":true},"list":[1]}`;
      t.ok(received.raw.includes(content), "objects are merged, and values are as sent");
      t.notOk("polluted" in {});
      const detail = await api.call("GET", `/api/webhooks/events/${body.event_id}`, { headers });
      t.match(detail.body, { status: "delivered", channel_id: null, delivery_attempts: [{ attempt: 1 }] });
      await rollUp(api);
      const stats = await api.call("GET", "/api/stats/events?key=photoapp", { headers });
      t.match(stats.body.totals, { accepted: 1 }, "test events are counted");

      backend.setStatus(503);
      const failed = await send({ type: "webhook.test", data: { order: { id: 1 } } });
      t.match(failed.body, { delivered: false, status_code: 503, error: "HTTP 503" });
      t.match(backend.received[1], {
        path: "/",
        body: { test: true, key: null, data: { order: { id: 1 } } },
      });
      t.match((await history()).deliveries[1], { state: "retrying" }, "retries apply");
    },
  );

  t.test("few requests of a client wait, and none delays the end of the process", async (t) => {
    const { send, configure, disableKey, history, tenant } = await testRouteOf(api);
    await configure({ webhook_url: "http://127.0.0.1:1" });
    await disableKey("marketing");
    const { headers } = await tenant.createKey("webhooks:manage");
    const waiting: Promise<Response>[] = [];
    const gone = new AbortController();
    await t.test("in a process that ends", async (t) => {
      const { address } = await startApi(t, { config: api.config });
      const sendThere = (json: object, signal?: AbortSignal) =>
        fetch(`${address}/api/webhooks/test`, {
          method: "POST",
          headers,
          body: JSON.stringify(json),
          ...(signal ? { signal } : {}),
        });
      const type = "message.received";
      waiting.push(sendThere({ type }));
      const leaving = [1, 2, 3, 4].map(() => sendThere({ type }, gone.signal).catch(() => {}));
      await until("all are recorded", async () => (await history()).events.length === 5);
      const refused = await sendThere({ type: "lead.created" });
      t.equal(refused.status, 429);
      t.equal(refused.headers.get("retry-after"), "5");
      t.match(await refused.json(), { error: "rate_limited" });
      t.equal((await sendThere({ type, wait: false })).status, 202, "without waiting there is no limit");
      t.equal((await send({ type: "lead.created" })).status, 200, "another process counts for itself");
      gone.abort();
      await Promise.all(leaving);
      await until(
        "the places are free",
        async () => (await sendThere({ type: "lead.created" })).status === 200,
      );
    });
    const [answer] = await Promise.all(waiting);
    t.equal(answer?.status, 200);
    t.match(await answer?.json(), { delivered: false, status_code: null, error: "pending" });
  });
});
