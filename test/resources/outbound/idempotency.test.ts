import t, { type Test } from "tap";
import { newId } from "../../../src/runtime/ids.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { makeSender, readRows, textMessage } from "../../fixtures/messages/messages.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { until } from "../../fixtures/until.ts";

t.test("idempotency across two web processes", async (t) => {
  const one = await startApi(t);
  const other = await startApi(t, { config: one.config });
  const observer = await connectRawClient(t, one.config.DATABASE_URL);
  const sender = await makeSender(one);
  const channel = await makeChannel(one, sender.tenant);
  const post = (api: Api, key: string, message: object = {}) =>
    api.call("POST", "/api/outbound/send", {
      headers: { ...sender.headers, "idempotency-key": key },
      json: textMessage(channel, message),
    });
  /** Repeats a request that another one with its key kept waiting for too long, as on a slow machine. */
  const postUntilFinished = (...request: Parameters<typeof post>) =>
    until("the request is not in progress", async () => {
      const reply = await post(...request);
      return reply.body.error === "idempotency_in_progress" ? undefined : reply;
    });
  const messagesWithRef = (ref: string) =>
    one.db.query("select 1 from messages where client_id = $1 and external_ref = $2", [
      sender.tenant.id,
      ref,
    ]);

  /** Blocks the acceptance of messages until the returned function is called. */
  const lockMessages = async (t: Test) => {
    const holder = await connectRawClient(t, one.config.DATABASE_URL);
    await holder.query("begin");
    await holder.query("lock table messages in exclusive mode");
    return () => holder.query("commit");
  };

  t.test("fifty requests with one key accept one message, and 49 get a replay", async (t) => {
    const release = await lockMessages(t);
    const pending = Array.from({ length: 50 }, (_, index) =>
      postUntilFinished(index % 2 ? one : other, "fifty", { external_ref: "fifty" }),
    );
    await untilBlocked(observer, 2);
    await release();
    const replies = await Promise.all(pending);
    t.ok(replies.every(({ status }) => status === 202));
    t.equal(new Set(replies.map(({ text }) => text)).size, 1);
    t.equal(new Set(replies.map(({ headers }) => headers.get("location"))).size, 1);
    t.equal(replies.filter(({ headers }) => headers.get("idempotent-replay") === "true").length, 49);
    t.equal((await messagesWithRef("fifty")).length, 1);
  });

  t.test("only one of several bodies with the same key is accepted", async (t) => {
    const release = await lockMessages(t);
    const pending = [one, other].map((api, index) =>
      postUntilFinished(api, "bodies", { external_ref: "bodies", text: { body: `body ${index}` } }),
    );
    await untilBlocked(observer, 2);
    await release();
    const replies = await Promise.all(pending);
    t.same(replies.map(({ status }) => status).sort(), [202, 422]);
    t.equal(replies.find(({ status }) => status === 422)?.body.error, "idempotency_key_reused");
    t.equal((await messagesWithRef("bodies")).length, 1);
  });

  t.test("requests with overlapping keys in opposite order do not deadlock", async (t) => {
    const keys = Array.from({ length: 30 }, (_, index) => `overlap-${index}`);
    const replies = await Promise.all([
      ...keys.map((key) => postUntilFinished(one, key, { external_ref: "overlap" })),
      ...keys.toReversed().map((key) => postUntilFinished(other, key, { external_ref: "overlap" })),
    ]);
    t.ok(replies.every(({ status }) => status === 202));
    t.equal((await messagesWithRef("overlap")).length, 30);
  });

  t.test("a repetition gets 409 while the first request is blocked, and its reply afterwards", async (t) => {
    const release = await lockMessages(t);
    const first = post(one, "hanging");
    await untilBlocked(observer, 1);
    const different = await post(one, "hanging", { to: "5511988880000" });
    t.match(
      different,
      { status: 422, body: { error: "idempotency_key_reused" } },
      "another body is refused at once",
    );
    const began = performance.now();
    const refused = await post(one, "hanging");
    const waited = performance.now() - began;
    t.equal(refused.status, 409);
    t.equal(refused.body.error, "idempotency_in_progress");
    t.equal(refused.headers.get("retry-after"), "1");
    t.ok(waited > 1_900, `waits about two seconds: ${waited} ms`);
    await release();
    const { status, text } = await first;
    t.equal(status, 202);
    for (const api of [one, other]) {
      const again = await post(api, "hanging");
      t.equal(again.headers.get("idempotent-replay"), "true");
      t.equal(again.text, text);
    }
  });

  t.test(
    "a repetition is replayed after the channel is disconnected, and a refusal frees its key",
    async (t) => {
      const first = await post(one, "ended");
      const setChannelStatus = (status: string) =>
        one.db.query("update channels set status = $2 where id = $1", [channel, status]);
      await setChannelStatus("disconnected");
      for (const api of [one, other]) {
        t.equal((await post(api, "ended")).text, first.text);
        t.equal((await post(api, "ended", { to: "5511988880000" })).status, 422);
        t.equal((await post(api, "freed")).body.error, "channel_disconnected");
      }
      await setChannelStatus("connected");
      const freed = await post(other, "freed");
      t.equal(freed.status, 202);
      t.equal(freed.headers.get("idempotent-replay"), null);
    },
  );

  t.test("a used key is checked before the channel's existence", async (t) => {
    await post(one, "elsewhere");
    const channel_id = newId("ch");
    t.equal((await post(other, "elsewhere", { channel_id })).status, 422);
    t.equal((await post(other, "nowhere", { channel_id })).status, 404);
  });
});

t.test("idempotency keys work while Redis is unavailable", async (t) => {
  const api = await startApi(t, { settings: { REDIS_URL: "redis://127.0.0.1:1" } });
  const sender = await makeSender(api);
  const message = textMessage(await makeChannel(api, sender.tenant));
  const first = await sender.send(message, { "idempotency-key": "k" });
  t.equal(first.status, 202);
  const again = await sender.send(message, { "idempotency-key": "k" });
  t.equal(again.text, first.text);
  t.equal(again.headers.get("idempotent-replay"), "true");
  t.equal(
    (await sender.send(textMessage(message.channel_id, { to: "1234567" }), { "idempotency-key": "k" }))
      .status,
    422,
  );
  t.match(await readRows(api, "sends", sender.tenant), [{ state: "waiting" }]);
});
