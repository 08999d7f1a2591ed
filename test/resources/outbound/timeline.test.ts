import t, { type Test } from "tap";
import { HOUR } from "../../../src/runtime/durations.ts";
import { appendAttempt } from "../../../src/store/messages/lifecycle.ts";
import { configureWebhook, makeEvents } from "../../fixtures/events/events.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { makeSender, textMessage, updateRow } from "../../fixtures/messages/messages.ts";
import {
  answerAccepted,
  answerRefused,
  makeSendDue,
  queueMessage,
  startSendingContext,
  untilMessage,
} from "../../fixtures/messages/sending-context.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

const pathOf = (id: string) => `/api/outbound/messages/${id}/timeline`;

/** A dispatcher that sends to a scripted platform, and an API on the same database. */
async function startWithApi(t: Test) {
  const context = await startSendingContext(t);
  const api = await startApi(t, { config: context.config });
  const { headers } = await context.tenant.createKey("messages:send");
  const read = async (id: string) => (await api.call("GET", pathOf(id), { headers })).body.data;
  const attemptsOf = async (id: string) =>
    (await read(id)).filter(({ type }: { type: string }) => type === "platform_attempt");
  return { ...context, api, read, attemptsOf };
}

t.test("the timeline of a message", async (t) => {
  const context = await startWithApi(t);
  const { platform, read, attemptsOf } = context;

  t.test("has its acceptance, statuses, platform attempts and events, oldest first", async (t) => {
    const id = await queueMessage(context, { to: "5511900000001" });
    await untilMessage(context, id, { status: "accepted" });
    const data = await read(id);
    t.match(data, [
      { type: "accepted", request_id: "req_1" },
      { type: "status", status: "queued" },
      { type: "status", status: "sending" },
      {
        type: "platform_attempt",
        attempt: 1,
        outcome: "accepted",
        status_code: 200,
        duration_ms: Number,
        error: null,
      },
      { type: "status", status: "accepted" },
      { type: "event", event_id: /^evt_/, event_type: "message.send_result" },
    ]);
    const times = data.map(({ at }: { at: string }) => at);
    t.same(times, [...times].sort());
  });

  t.test("has every attempt of a message that is retried and then refused", async (t) => {
    platform.answer = (response) => answerRefused(response, 131000, { is_transient: true });
    const id = await queueMessage(context, { to: "5511900000002" });
    await untilMessage(context, id, { state: "waiting", send_attempts: 1 });
    t.match(await attemptsOf(id), [
      { attempt: 1, outcome: "retry", status_code: 400, error: { code: 131000 } },
    ]);
    t.match((await read(id)).at(-1), { type: "platform_attempt" }, "a retry adds no status and no event");
    platform.answer = (response) => answerRefused(response, 131026);
    await makeSendDue(context, id);
    await untilMessage(context, id, { status: "failed" });
    t.match(await attemptsOf(id), [
      { attempt: 1, outcome: "retry" },
      { attempt: 2, outcome: "rejected", status_code: 400, error: { code: 131026, title: "no" } },
    ]);
  });

  t.test("has the reason of an attempt whose outcome is unknown", async (t) => {
    const causes: [typeof platform.answer, object][] = [
      [(response) => response.destroy(), { status_code: null, error: { message: /connection/ } }],
      [(response) => response.end("<html>"), { status_code: 200, error: { message: /be read/ } }],
      [(response) => response.end("{}"), { status_code: 200, error: { message: /not confirm/ } }],
    ];
    for (const [answer, expected] of causes) {
      platform.answer = answer;
      const id = await queueMessage(context, { to: "5511900000003" });
      await untilMessage(context, id, { status: "unknown" });
      t.match(await attemptsOf(id), [{ attempt: 1, outcome: "unknown", ...expected }]);
    }
    platform.answer = (response) => answerAccepted(response, "wamid.later");
  });

  t.test("keeps the first attempt and the last 99", async (t) => {
    const id = await queueMessage(context, { to: "5511900000005" });
    await untilMessage(context, id, { status: "accepted" });
    const stored = Array.from({ length: 100 }, (_, index) => ({
      ...{ attempt: index + 1, at: new Date().toISOString(), outcome: "retry" },
    }));
    await context.db.query("update messages set platform_attempts = $2 where id = $1", [
      id,
      JSON.stringify(stored),
    ]);
    const [row] = await context.db.query<{ attempts: { attempt: number }[] }>(
      `select ${appendAttempt("platform_attempts", `'{"attempt": 101}'::jsonb`)} as attempts from messages where id = $1`,
      [id],
    );
    t.same(
      row?.attempts.map(({ attempt }) => attempt),
      [1, ...Array.from({ length: 99 }, (_, index) => index + 3)],
    );
  });
});

t.test("the timeline of a message with events", async (t) => {
  const api = await startApi(t);
  const sender = await makeSender(api);
  await configureWebhook(api, sender.tenant);
  const channel = await makeChannel(api, sender.tenant);
  const id = (await sender.send(textMessage(channel), { "x-request-id": "order-1042" })).body.message_id;
  const read = (headers = sender.headers) => api.call("GET", pathOf(id), { headers });
  const [eventId] = await makeEvents(api, sender.tenant, { type: "message.status", messageId: id });
  const addAttempts = (from: number, to: number) =>
    api.db.query(
      `insert into attempts (client_id, id, attempt, at, status_code, duration_ms, error)
      select $1, $2, n, now() + n * interval '1 second', 503, 7, 'HTTP 503' from generate_series($3::int, $4::int) n`,
      [sender.tenant.id, eventId, from, to],
    );

  t.test("has the event and the attempts to deliver it", async (t) => {
    await addAttempts(1, 2);
    const { status, body } = await read();
    t.equal(status, 200);
    t.equal(body.message_id, id);
    const attempt = {
      type: "delivery_attempt",
      event_id: eventId,
      status_code: 503,
      duration_ms: 7,
      error: "HTTP 503",
    };
    t.match(body.data, [
      { type: "accepted", request_id: "order-1042" },
      { type: "status", status: "queued" },
      { type: "event", event_id: eventId, event_type: "message.status" },
      { ...attempt, attempt: 1 },
      { ...attempt, attempt: 2 },
    ]);
  });

  t.test("has at most 1,000 entries, without the latest attempts to deliver", async (t) => {
    await addAttempts(3, 1_200);
    const { data } = (await read()).body;
    t.equal(data.length, 1_000);
    t.match(data.at(-1), { type: "delivery_attempt", attempt: 997 });
  });

  t.test("is in order although the platform reports whole seconds of another clock", async (t) => {
    const at = new Date(Date.now() - HOUR).toISOString();
    const timeline = JSON.stringify(["sent", "read"].map((status) => ({ status, at })));
    await updateRow(api, "messages", { id, status: "read", timeline });
    const { statuses, created_at } = (await sender.read(id)).body;
    t.same(
      statuses,
      ["queued", "sent", "read"].map((status) => ({ status, at: created_at })),
      "the message has the same times",
    );
    const { data } = (await read()).body;
    t.match(data.slice(0, 4), [
      { type: "accepted" },
      { status: "queued" },
      { status: "sent" },
      { status: "read" },
    ]);
    t.equal(data[3].at, data[0].at);
  });

  t.test("is 404 for another client's message", async (t) => {
    const other = await makeSender(api);
    t.match(await read(other.headers), { status: 404, body: { error: "not_found" } });
  });
});
