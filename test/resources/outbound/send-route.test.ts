import t from "tap";
import { deleteClient } from "../../../src/domain/tenants/delete-client.ts";
import { HOUR } from "../../../src/runtime/durations.ts";
import { timeOfId } from "../../../src/runtime/ids.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { makeSender, RECIPIENT_PHONE, readRows, textMessage } from "../../fixtures/messages/messages.ts";
import { connectRedis } from "../../fixtures/servers/redis.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { until } from "../../fixtures/until.ts";

const ABSENT = "ch_01k9zv3m5q8x7w2r4t6y0a1b2c";

t.test("message send", async (t) => {
  const { statements, database } = watchStatements();
  const api = await startApi(t, { database });

  t.test("an accepted message is queued, and the reply links to it", async (t) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    const reply = await sender.send(textMessage(channel, { external_ref: "order-1" }));
    t.equal(reply.status, 202);
    const { message_id, created_at, ...rest } = reply.body;
    t.same(rest, {
      status: "queued",
      channel_id: channel,
      platform: "chatapp",
      to: RECIPIENT_PHONE,
      to_type: "phone",
      external_ref: "order-1",
    });
    t.equal(reply.headers.get("location"), `/api/outbound/messages/${message_id}`);
    t.equal(reply.headers.get("idempotent-replay"), null);
    t.equal(Date.parse(created_at), timeOfId(message_id));
    const read = await api.call("GET", reply.headers.get("location") as string, { headers: sender.headers });
    t.same(read.body, {
      ...reply.body,
      batch_id: null,
      send_at: null,
      platform_message_id: null,
      statuses: [{ status: "queued", at: created_at }],
      error: null,
      attempts: 0,
      type: "text",
      content: { body: "Hi" },
      context: null,
      messaging_type: null,
      tag: null,
    });
  });

  t.test("the log line of a send, also of a repeated one, contains the message id", async (t) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    const headers = { "idempotency-key": "k1" };
    const sent = [
      await sender.send(textMessage(channel), headers),
      await sender.send(textMessage(channel), headers),
    ];
    const { message_id } = sent[0]?.body ?? {};
    for (const reply of sent) {
      const request_id = reply.headers.get("x-request-id");
      const line = await until("the request is logged", () =>
        api.lines.find((one) => one.event === "http.request" && one.request_id === request_id),
      );
      t.match(line, { client: sender.tenant.id, message_id, route: "/api/outbound/send" });
    }
    t.equal(sent[1]?.headers.get("idempotent-replay"), "true");
  });

  t.test("content of 256 KiB is accepted, more is refused", async (t) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    const send = (bytes: number) => {
      const interactive = { type: "button", action: { note: "" } };
      interactive.action.note = "x".repeat(bytes - JSON.stringify(interactive).length);
      const message = { ...textMessage(channel), type: "interactive", text: undefined, interactive };
      return sender.send(message, { "idempotency-key": `content of ${bytes}`.replaceAll(" ", "-") });
    };
    t.equal((await send(262_144)).status, 202);
    const refused = await send(262_145);
    t.equal(refused.status, 400);
    t.match(refused.body, { error: "validation_failed", details: [{ path: "/interactive" }] });
    t.equal((await send(9_000_000)).status, 400);
  });

  t.test("to_type follows from the platform and the recipient's format", async (t) => {
    const sender = await makeSender(api);
    const CASES = [
      ["chatapp", "5511988887777", "phone"],
      ["chatapp", "US.13491208655302741918", "business_scoped"],
      ["photoapp", "5511988887777", "scoped_id"],
      ["socialapp", "1", "scoped_id"],
    ] as const;
    for (const [platform, to, kind] of CASES) {
      const { body } = await sender.send(
        textMessage(await makeChannel(api, sender.tenant, { platform }), { to }),
      );
      t.match(body, { platform, to, to_type: kind, external_ref: null });
    }
  });

  t.test("an accepted message is due immediately, expires after a day and wakes a dispatcher", async (t) => {
    const sender = await makeSender(api);
    const { body } = await sender.send(textMessage(await makeChannel(api, sender.tenant)));
    const [row] = await readRows(api, "sends", sender.tenant);
    t.match(row, {
      id: body.message_id,
      state: "waiting",
      attempts: 0,
      recipient: RECIPIENT_PHONE,
      started_at: null,
    });
    const remainingMs = Number(row?.expires_at) - Date.now();
    t.ok(remainingMs > 23.9 * HOUR && remainingMs < 24.1 * HOUR);
    const redis = await connectRedis(t, api.config.REDIS_URL.nodes[0]);
    const channelId = String(row?.channel_id);
    await until("a wake-up names the channel", async () =>
      JSON.stringify(await redis.xrange("{18}:outbound", "-", "+")).includes(channelId),
    );
  });

  t.test("messages to one person keep the order of acceptance", async (t) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    const ids: string[] = [];
    for (let count = 0; count < 5; count++)
      ids.push((await sender.send(textMessage(channel))).body.message_id);
    const rows = await api.db.query<{ id: string }>(
      "select id from sends where client_id = $1 order by place",
      [sender.tenant.id],
    );
    t.same(
      rows.map(({ id }) => id),
      ids,
    );
  });

  t.test("an unknown channel, or another client's, gets 404", async (t) => {
    const [sender, other] = [await makeSender(api), await makeSender(api)];
    const foreignChannel = await makeChannel(api, other.tenant);
    t.equal((await other.send(textMessage(foreignChannel))).status, 202);
    for (const channel of [ABSENT, foreignChannel]) {
      const { status, body } = await sender.send(textMessage(channel));
      t.equal(status, 404);
      t.equal(body.error, "not_found");
    }
    t.same(await readRows(api, "messages", sender.tenant), []);
  });

  t.test("a channel that is not connected gets 409 immediately and works again once connected", async (t) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    t.equal((await sender.send(textMessage(channel))).status, 202);
    for (const status of ["needs_reauth", "disconnected"]) {
      await api.db.query("update channels set status = $2 where id = $1", [channel, status]);
      const reply = await sender.send(textMessage(channel));
      t.equal(reply.status, 409, status);
      t.match(reply.body, { error: "channel_disconnected", message: /: reconnect (it|the channel)$/ });
    }
    await api.db.query("update channels set status = 'connected' where id = $1", [channel]);
    t.equal((await sender.send(textMessage(channel))).status, 202);
    t.equal((await readRows(api, "messages", sender.tenant)).length, 2);
  });

  t.test("an invalid message is reported before a channel error", async (t) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    t.equal((await sender.send(textMessage(ABSENT, { text: {} }))).status, 400);
    await api.db.query("update channels set status = 'disconnected' where id = $1", [channel]);
    t.equal((await sender.send(textMessage(channel, { to: "x" }))).body.error, "invalid_recipient");
  });

  t.test("a just erased client's channel gets 404", async (t) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    t.equal((await sender.send(textMessage(channel))).status, 202);
    await deleteClient(api.db, sender.tenant.id);
    t.equal((await sender.send(textMessage(channel))).status, 404);
    t.same(await readRows(api, "messages", sender.tenant), []);
  });

  t.test("a message to a cached channel runs one statement", async (t) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    await sender.send(textMessage(channel));
    statements.length = 0;
    t.equal((await sender.send(textMessage(channel), { "idempotency-key": "k" })).status, 202);
    t.equal(statements.length, 1);
  });

  t.test("message texts and idempotency keys are neither logged nor stored in plain text", async (t) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    const secretText = "sesame-open-1234";
    await sender.send(textMessage(channel, { text: { body: secretText } }), {
      "idempotency-key": secretText,
    });
    await sender.send(textMessage(channel, { text: { body: secretText }, to: "x" }), {
      "idempotency-key": secretText,
    });
    t.notMatch(JSON.stringify(api.lines), secretText);
    const [key] = await readRows(api, "idempotency_keys", sender.tenant);
    t.notMatch(JSON.stringify(key), secretText);
    t.notMatch(JSON.stringify(key), RECIPIENT_PHONE, "the stored reply is encrypted");
  });
});
