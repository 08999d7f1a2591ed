import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { MAX_LEASE_MS } from "../../../src/runtime/deadlines.ts";
import { HOUR, MINUTE } from "../../../src/runtime/durations.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { CAUSES, causeDocumentation } from "../../../src/schema/causes/causes.ts";
import { holdQueue, readQueueHold, releaseQueue } from "../../../src/store/processes/queue-hold.ts";
import { idsIn } from "../../fixtures/docs/page-ids.ts";
import { BREAKERS_KEY } from "../../fixtures/events/breakers.ts";
import { configureWebhook, makeEvents, updateDelivery, WEBHOOK_URL } from "../../fixtures/events/events.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { sendBatch } from "../../fixtures/messages/batches.ts";
import { makeSender, textMessage, updateRow } from "../../fixtures/messages/messages.ts";
import { createCommandRunner } from "../../fixtures/processes/command-line.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { connectRedis } from "../../fixtures/servers/redis.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

// After the acceptance of the messages: no status is before it.
const AT = new Date(Date.now() + HOUR);
const LATER = new Date(Date.now() + 2 * HOUR);
const storedError = (code: number | string) =>
  JSON.stringify({ code, title: "Title", message: "Text of the platform", details: null });

t.test("the explanation of a message", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const redis = await connectRedis(t, api.config.REDIS_URL.nodes[0]);
  const sender = await makeSender(api);
  const { tenant, headers } = sender;
  const channel = await makeChannel(api, tenant);
  let recipients = 0;
  const pathOf = (id: string) => `/api/outbound/messages/${id}/explanation`;
  const explain = async (id: string) => {
    const { status, body } = await api.call("GET", pathOf(id), { headers });
    t.equal(status, 200);
    return body;
  };
  const send = async (channelId = channel): Promise<string> => {
    const to = `55119${String(++recipients).padStart(8, "0")}`;
    return (await sender.send(textMessage(channelId, { to }))).body.message_id;
  };
  const sendRow = async (id: string) =>
    (await api.db.query<{ expires_at: Date }>("select expires_at from sends where id = $1", [id]))[0] as {
      expires_at: Date;
    };
  /** A message whose send is settled. */
  const settle = async (columns: Record<string, unknown>) => {
    const id = await send();
    await api.db.query("delete from sends where id = $1", [id]);
    await updateRow(api, "messages", { id, ...columns });
    return id;
  };

  t.test("of a waiting message has the reason for which it waits", async (t) => {
    const id = await send();
    const { created_at } = (await sender.read(id)).body;
    const until = (await sendRow(id)).expires_at.toISOString();
    t.match(await explain(id), {
      message_id: id,
      status: "queued",
      verdict: "waiting",
      cause: "queued",
      who_acts: "nobody",
      since: created_at,
      until,
      documentation: "/docs/guides/errors#progress",
    });

    await redis.set(`{18}:singles-waiting:${channel}`, "1", "PX", 60_000);
    t.match(await explain(id), { cause: "rate", since: created_at, until });
    await redis.del(`{18}:singles-waiting:${channel}`);

    await updateRow(api, "sends", { id, state: "behind" });
    t.match(await explain(id), { cause: "order", since: created_at, until });

    const error = storedError(131056);
    await updateRow(api, "sends", { id, state: "waiting", attempts: 1, started_at: AT });
    const nextAttempt = new Date(Date.now() + HOUR);
    await updateRow(api, "sends", { id, next_attempt_at: nextAttempt });
    const attempts = [{ attempt: 1, at: LATER, outcome: "retry", error }];
    await updateRow(api, "messages", { id, platform_attempts: JSON.stringify(attempts) });
    t.match(await explain(id), {
      status: "sending",
      cause: "retry",
      since: LATER.toISOString(),
      until: nextAttempt.toISOString(),
      platform_error: { code: 131056, message: "Text of the platform" },
    });

    attempts.push({ attempt: 2, at: LATER, outcome: "retry", error: null as unknown as string });
    await updateRow(api, "messages", { id, platform_attempts: JSON.stringify(attempts) });
    t.equal((await explain(id)).platform_error, undefined, "the last attempt had no answer");

    await holdQueue(api.db, { by: "an operator" });
    const { since } = await readQueueHold(api.db);
    t.match(await explain(id), { cause: "hold", who_acts: "operator", since: since?.toISOString(), until });
    await releaseQueue(api.db);

    const claimedAt = new Date();
    await updateRow(api, "sends", { id, state: "claimed", claimed_at: claimedAt });
    t.match(await explain(id), {
      cause: "sending",
      since: claimedAt.toISOString(),
      until: new Date(claimedAt.getTime() + MAX_LEASE_MS).toISOString(),
    });
    await updateRow(api, "sends", { id, claimed_at: new Date(Date.now() - HOUR) });
    t.match(await explain(id), { cause: "sending", until: null }, "a time that has passed is not shown");
  });

  t.test(
    "of a scheduled message has its time, and of a cancelled one says that it was cancelled",
    async (t) => {
      const to = `55119${String(++recipients).padStart(8, "0")}`;
      const send_at = LATER.toISOString();
      const { message_id, created_at } = (await sender.send(textMessage(channel, { to, send_at }))).body;
      const scheduled = { status: "scheduled", verdict: "waiting", cause: "scheduled", who_acts: "nobody" };
      const { since, ...explanation } = await explain(message_id);
      t.match(explanation, { ...scheduled, batch_id: null, until: send_at });
      t.ok(Math.abs(Date.parse(since) - Date.parse(created_at)) < MINUTE);
      await holdQueue(api.db, { by: "an operator" });
      t.match(await explain(message_id), scheduled, "a hold does not matter before its time");
      await releaseQueue(api.db);

      const started = new Date(Date.now() - MINUTE);
      await updateRow(api, "messages", { id: message_id, status: "queued", send_at: AT });
      await updateRow(api, "sends", { id: message_id, state: "behind", next_attempt_at: started });
      t.match(
        await explain(message_id),
        { cause: "order", since: AT.toISOString() },
        "it waits since its time",
      );

      const { status } = await api.call("DELETE", `/api/outbound/messages/${message_id}`, { headers });
      t.equal(status, 200);
      t.match(await explain(message_id), {
        status: "cancelled",
        verdict: "ok",
        cause: "cancelled",
        until: null,
      });
    },
  );

  t.test("of a message of a batch has the state of the batch", async (t) => {
    const change = async (batchId: string, request: string) => {
      const reply = await api.call("POST", `/api/outbound/batches/${batchId}/${request}`, { headers });
      t.equal(reply.status, 200);
    };
    const readBatch = async (batchId: string) =>
      (
        await api.db.query<{ expires_at: Date; paused_at: Date }>("select * from batches where id = $1", [
          batchId,
        ])
      )[0];
    const firstOf = async (batchId: string): Promise<string> =>
      (await sender.list(`?batch_id=${batchId}`)).body.data[0].message_id;

    const running = await sendBatch(api, headers, { channelId: channel });
    const id = await firstOf(running);
    const until = (await readBatch(running))?.expires_at.toISOString();
    t.match(await explain(id), { batch_id: running, cause: "queued", until });
    await change(running, "pause");
    const since = (await readBatch(running))?.paused_at.toISOString();
    const paused = { verdict: "waiting", cause: "batch_paused", who_acts: "you", until: null };
    t.match(await explain(id), { ...paused, since, next_step: /resume/ });
    await updateRow(api, "sends", { id, state: "behind" });
    t.match(await explain(id), paused);
    await updateRow(api, "sends", { id, state: "claimed", claimed_at: new Date() });
    t.match(await explain(id), { cause: "sending" }, "a message in flight is finished");
    await updateRow(api, "sends", { id, state: "waiting" });
    await change(running, "resume");
    t.match(await explain(id), { cause: "queued" });
    await change(running, "cancel");
    t.match(await explain(id), { verdict: "ok", cause: "cancelled" });

    const scheduled = await sendBatch(api, headers, { channelId: channel, send_at: LATER.toISOString() });
    const first = await firstOf(scheduled);
    t.match(await explain(first), { batch_id: scheduled, cause: "scheduled", until: LATER.toISOString() });
    await change(scheduled, "pause");
    t.match(await explain(first), { status: "scheduled", ...paused });
  });

  t.test("of a message on a channel with a dead token says that you must connect it again", async (t) => {
    const other = await makeChannel(api, tenant);
    const id = await send(other);
    await updateRow(api, "channels", { id: other, status: "needs_reauth" });
    const until = (await sendRow(id)).expires_at.toISOString();
    t.match(await explain(id), {
      verdict: "waiting",
      cause: "channel_needs_reauth",
      who_acts: "you",
      next_step: /^Connect the channel again/,
      until,
    });
    await updateRow(api, "channels", { id: other, status: "disconnected" });
    t.match(await explain(id), { cause: "channel_disconnected", until: null });
  });

  t.test("of a message of unknown outcome may still change, and fails later", async (t) => {
    const id = await send();
    await updateRow(api, "sends", { id, state: "unknown", next_attempt_at: LATER, started_at: AT });
    const timeline = JSON.stringify([{ status: "unknown", at: LATER }]);
    await updateRow(api, "messages", { id, status: "unknown", timeline });
    const expected = { cause: "outcome_unknown", since: LATER.toISOString() };
    t.match(await explain(id), { ...expected, verdict: "unknown", until: LATER.toISOString() });
    const failed = await settle({
      status: "failed",
      error: storedError("outcome_unknown"),
    });
    const { platform_error, ...explanation } = await explain(failed);
    t.match(explanation, { cause: "outcome_unknown", verdict: "failed", until: null });
    t.equal(platform_error, undefined, "Herald's own codes are no errors of the platform");
  });

  t.test("of a failed message has the cause of its code", async (t) => {
    for (const [code, cause] of [
      [131026, "recipient_unreachable"],
      ["expired", "expired"],
      ["channel_disconnected", "channel_disconnected"],
      ["discarded", "discarded"],
      ["quarantined", "send_quarantined"],
      ["internal", "internal_error"],
    ] as const)
      t.match(await explain(await settle({ status: "failed", error: storedError(code) })), {
        verdict: "failed",
        cause,
      });
    const error = JSON.stringify({
      code: 10,
      subcode: 2534022,
      title: "Title",
      message: "Text",
      details: null,
    });
    const { platform_error, ...explanation } = await explain(await settle({ status: "failed", error }));
    t.equal(explanation.cause, "window_closed");
    t.same(platform_error, { code: 10, title: "Title", message: "Text", details: null });
  });

  t.test("of a code that is not listed has the platform's text", async (t) => {
    const id = await settle({ status: "failed", error: storedError(139_000) });
    t.match(await explain(id), {
      cause: "platform_error",
      summary: "The platform refused the message: Text of the platform",
      platform_error: { code: 139_000 },
    });
    t.match(await explain(await settle({ status: "failed", error: null })), {
      cause: "platform_error",
      summary: /gave no reason/,
    });
  });

  t.test("of a message that the platform has takes the reason of its undelivered events", async (t) => {
    await configureWebhook(api, tenant);
    const timeline = JSON.stringify([{ status: "delivered", at: AT }]);
    const id = await settle({ status: "delivered", timeline });
    const delivered = { verdict: "ok", cause: "delivered", since: AT.toISOString(), until: null };
    t.match(await explain(id), delivered);
    const [event] = await makeEvents(api, tenant, { type: "message.status", messageId: id });
    t.match(await explain(id), delivered, "while the first attempt is due");

    await updateDelivery(api, event as string, { state: "retrying", attempts: 1, next_attempt_at: LATER });
    t.match(await explain(id), {
      status: "delivered",
      verdict: "waiting",
      cause: "backend_retry",
      who_acts: "you",
      until: LATER.toISOString(),
    });

    const breaker = { origin: new URL(WEBHOOK_URL).origin, until: Date.now() + 5 * MINUTE, failedProbes: 9 };
    await redis.hset(BREAKERS_KEY, tenant.id, JSON.stringify(breaker));
    const unavailable = { verdict: "waiting", cause: "backend_unavailable" };
    const { until, ...backend } = await explain(id);
    t.match(backend, unavailable);
    t.ok(Math.abs(Date.parse(until) - breaker.until) < MINUTE, until);
    await redis.hset(BREAKERS_KEY, tenant.id, JSON.stringify({ ...breaker, until: 1 }));
    t.match(await explain(id), { ...unavailable, until: null }, "while it is half-open");
    await redis.hdel(BREAKERS_KEY, tenant.id);

    await updateDelivery(api, event as string, { state: "failed", last_error: "HTTP 410", failed_at: LATER });
    const failed = { verdict: "failed", cause: "delivery_failed", since: LATER.toISOString(), until: null };
    t.match(await explain(id), failed);
    await updateDelivery(api, event as string, { last_error: "quarantined" });
    t.match(await explain(id), { ...failed, cause: "quarantined" });

    await updateDelivery(api, event as string, { state: "delivered" });
    t.match(await explain(id), delivered);
    await updateRow(api, "messages", { id, status: "failed", error: storedError(131026) });
    await updateDelivery(api, event as string, { state: "failed" });
    t.match(await explain(id), { cause: "recipient_unreachable" }, "a failed message has its own reason");
  });

  t.test("is not found for an unknown message and for another client's", async (t) => {
    const stranger = await makeSender(api);
    const id = await send();
    t.equal((await api.call("GET", pathOf(id), { headers: stranger.headers })).status, 404);
    t.equal((await api.call("GET", pathOf(newId("msg")), { headers })).status, 404);
    t.equal((await api.call("GET", pathOf("msg_1"), { headers })).status, 400);
  });

  t.test("names a section of a guide that this service has", async (t) => {
    for (const documentation of new Set(Object.values(CAUSES).map(causeDocumentation))) {
      const [path, anchor] = documentation.split("#") as [string, string];
      const guide = await api.call("GET", path);
      t.equal(guide.status, 200);
      t.ok(idsIn(guide.text).includes(anchor), documentation);
    }
  });

  t.test("is part of herald message show", async (t) => {
    const herald = createCommandRunner(t, settings);
    const id = await settle({ status: "failed", error: storedError(131026) });
    const { json } = await herald(["message", "show", id, "--json"]);
    t.same(json.explanation, await explain(id));
    const { out } = await herald(["message", "show", id]);
    t.match(out, /\n\nverdict +failed\ncause +recipient_unreachable\nsummary +The platform cannot deliver/);
    t.match(
      out,
      /\nnext_step +Check the number\. .*\nsince .*\nuntil .*\ndocumentation +\/docs.*\n\nat +type/,
    );
  });
});
