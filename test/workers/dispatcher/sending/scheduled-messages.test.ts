import type { ServerResponse } from "node:http";
import t from "tap";
import { DAY, MINUTE, SECOND } from "../../../../src/runtime/durations.ts";
import { updateMessageStatuses } from "../../../../src/store/messages/message-statuses.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { textMessage } from "../../../fixtures/messages/messages.ts";
import {
  answerAccepted,
  answerRefused,
  readMessage,
  readMessageEvents,
  receivedBodies,
  startSendingContext,
  untilMessage,
} from "../../../fixtures/messages/sending-context.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import { until } from "../../../fixtures/until.ts";

const inFuture = (ms: number) => new Date(Date.now() + ms).toISOString();

t.test("scheduled and cancelled messages", async (t) => {
  const context = await startSendingContext(t);
  const { db, platform, tenant } = context;
  const api = await startApi(t, { config: context.config });
  const { headers } = await tenant.createKey("messages:send");
  const { answer } = platform;
  t.afterEach(() => {
    platform.answer = answer;
    platform.received.length = 0;
  });
  const post = (json: object, extraHeaders: Record<string, string> = {}) =>
    api.call("POST", "/api/outbound/send", { headers: { ...headers, ...extraHeaders }, json });
  const send = async (json: object): Promise<string> => {
    const { status, body, text } = await post(json);
    if (status !== 202) throw new Error(text);
    return body.message_id;
  };
  const read = async (id: string) =>
    (await api.call("GET", `/api/outbound/messages/${id}`, { headers })).body;
  const cancel = (id: string, callerHeaders = headers) =>
    api.call("DELETE", `/api/outbound/messages/${id}`, { headers: callerHeaders });
  /** Lets the time of a scheduled message come. */
  const setSendAt = (id: string, time: Date) =>
    db.query("update sends set next_attempt_at = $2 where id = $1 and state = 'scheduled'", [id, time]);
  const newChannel = () => makeChannel(context, tenant);
  const statusesOf = ({ statuses }: { statuses: { status: string }[] }) =>
    statuses.map(({ status }) => status);

  await t.test("a scheduled message is sent at its time", async (t) => {
    const sendAt = inFuture(29 * DAY);
    const reply = await post(textMessage(await newChannel(), { send_at: sendAt }));
    t.match(reply, { status: 202, body: { status: "scheduled" } });
    const id = reply.body.message_id;
    t.match(await read(id), { status: "scheduled", send_at: sendAt, attempts: 0 });
    const listed = await api.call("GET", "/api/outbound/messages?status=scheduled", { headers });
    t.same(
      listed.body.data.map(({ message_id }: { message_id: string }) => message_id),
      [id],
    );
    await setSendAt(id, new Date());
    await untilMessage(context, id, { status: "accepted" });
    t.same(statusesOf(await read(id)), ["scheduled", "queued", "sending", "accepted"]);
    t.equal(platform.received.length, 1);
  });

  await t.test("a status that names a scheduled message does not keep it from being sent", async (t) => {
    const id = await send(textMessage(await newChannel(), { send_at: inFuture(MINUTE) }));
    const update = { client_id: tenant.id, id, platform_message_id: null, delivered: inFuture(0) };
    await updateMessageStatuses(db, [update]);
    t.equal((await read(id)).status, "scheduled");
    await setSendAt(id, new Date());
    await untilMessage(context, id, { status: "accepted" });
  });

  await t.test("its 24 hours begin at its time", async (t) => {
    const sendAt = inFuture(10 * DAY);
    const id = await send(textMessage(await newChannel(), { send_at: sendAt }));
    const [row] = await db.query<{ expires_at: Date }>("select expires_at from sends where id = $1", [id]);
    t.equal(row?.expires_at.getTime(), Date.parse(sendAt) + DAY);
    await cancel(id);
  });

  await t.test("messages to one person are sent in the order of their times", async (t) => {
    const channel = await newChannel();
    const ids: string[] = [];
    for (const body of ["third", "first", "second"])
      ids.push(await send(textMessage(channel, { text: { body }, send_at: inFuture(10 * MINUTE) })));
    const places = new Map([
      [ids[0], 1],
      [ids[1], 3],
      [ids[2], 2],
    ]);
    await db.transaction(async (tx) => {
      for (const [id, seconds] of places)
        await tx.query("update sends set next_attempt_at = $2 where id = $1", [
          id,
          new Date(Date.now() - seconds * SECOND),
        ]);
    });
    for (const id of ids) await untilMessage(context, id, { status: "accepted" });
    t.same(
      receivedBodies(platform).map(({ text }) => text.body),
      ["first", "second", "third"],
    );
  });

  await t.test(
    "a scheduled message does not block later ones before its time, and waits for earlier ones then",
    async (t) => {
      const channel = await newChannel();
      const open: ServerResponse[] = [];
      const scheduled = await send(
        textMessage(channel, { text: { body: "later" }, send_at: inFuture(MINUTE) }),
      );
      platform.answer = (response) => void open.push(response);
      const first = await send(textMessage(channel, { text: { body: "now" } }));
      await until("the other message is being sent", () => open.length === 1);
      await setSendAt(scheduled, new Date());
      await until(
        "it waits for the other one",
        async () => (await readMessage(context, scheduled)).state === "behind",
      );
      t.equal((await read(scheduled)).status, "queued");
      platform.answer = answer;
      answerAccepted(open[0] as ServerResponse, "wamid.first");
      for (const id of [first, scheduled]) await untilMessage(context, id, { status: "accepted" });
      t.same(
        receivedBodies(platform).map(({ text }) => text.body),
        ["now", "later"],
      );
    },
  );

  await t.test(
    "at its time a disconnected channel fails it, and one that needs a new token lets it wait",
    async (t) => {
      for (const [status, expected] of [
        ["disconnected", "failed"],
        ["needs_reauth", "queued"],
      ] as const) {
        const channel = await newChannel();
        const id = await send(textMessage(channel, { send_at: inFuture(MINUTE) }));
        await db.query("update channels set status = $2 where id = $1", [channel, status]);
        const other = await send(textMessage(await newChannel(), { send_at: inFuture(-1) }));
        await untilMessage(context, other, { status: "accepted" });
        t.equal((await read(id)).status, "scheduled", "before its time it is not affected");
        await setSendAt(id, new Date());
        const message = await until(`it is ${expected}`, async () => {
          const found = await read(id);
          return found.status === expected ? found : undefined;
        });
        if (expected === "failed") t.equal(message.error.code, "channel_disconnected");
      }
    },
  );

  await t.test("wrong times are refused, and a repeated request gets its first reply", async (t) => {
    const channel = await newChannel();
    const messages = {
      "too far ahead": inFuture(30 * DAY + MINUTE),
      "too far in the past": inFuture(-6 * MINUTE),
      "without an offset": "2026-11-02T09:00:00",
      "without a time": "2026-11-02",
      "no date": "tomorrow",
    };
    for (const [name, send_at] of Object.entries(messages))
      t.match(
        await post(textMessage(channel, { send_at })),
        { status: 400, body: { error: "validation_failed", details: [{ path: "/send_at" }] } },
        name,
      );
    const past = await post(textMessage(channel, { send_at: inFuture(-4 * MINUTE) }));
    t.match(past.body, { status: "queued" });
    const json = textMessage(channel, { send_at: inFuture(MINUTE) });
    const key = { "idempotency-key": "scheduled" };
    const first = await post(json, key);
    t.same((await post(json, key)).body, first.body);
    await cancel(first.body.message_id);
  });

  await t.test("scheduled, queued and retried messages can be cancelled, once", async (t) => {
    const channel = await newChannel();
    const scheduled = await send(textMessage(channel, { send_at: inFuture(MINUTE) }));
    const other = await makeTenant(context);
    const stranger = (await other.createKey("messages:send")).headers;
    t.match(await cancel(scheduled, stranger), { status: 404 });
    t.match(await cancel("msg_01jc8m4t7v2x5k9w3r6y1b0nqd"), { status: 404 });
    const cancelled = await cancel(scheduled);
    t.match(cancelled, { status: 200, body: { message_id: scheduled, status: "cancelled" } });
    t.same(statusesOf(cancelled.body), ["scheduled", "cancelled"]);
    t.match(await cancel(scheduled), { status: 200, body: { status: "cancelled" } });
    t.same(
      (await readMessageEvents(context, scheduled)).map(({ type, status }) => [type, status]),
      [["message.status", "cancelled"]],
    );

    platform.answer = (response) => answerRefused(response, 131000);
    const retried = await send(textMessage(channel));
    await until("it waits for another try", async () => {
      const { state, attempts } = await readMessage(context, retried);
      return state === "waiting" && attempts > 0;
    });
    const behind = await send(textMessage(channel));
    t.equal((await readMessage(context, behind)).state, "behind");
    platform.answer = answer;
    t.match((await cancel(retried)).body, { status: "cancelled", attempts: 1 });
    await untilMessage(context, behind, { status: "accepted" });
    t.match(await cancel(behind), { status: 409, body: { error: "invalid_state_transition" } });
    t.equal((await read(behind)).status, "accepted");
  });

  await t.test("a message that is being sent cannot be cancelled", async (t) => {
    const open: ServerResponse[] = [];
    platform.answer = (response) => void open.push(response);
    const id = await send(textMessage(await newChannel()));
    await until("it is being sent", () => open.length === 1);
    t.match(await cancel(id), { status: 409, body: { error: "invalid_state_transition" } });
    answerAccepted(open[0] as ServerResponse, "wamid.late");
    await untilMessage(context, id, { status: "accepted" });
  });

  await t.test("a message is either cancelled or sent", async (t) => {
    const channel = await newChannel();
    const ids = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        send(textMessage(channel, { to: String(5511955550000 + index) })),
      ),
    );
    const replies = await Promise.all(ids.map((id) => cancel(id)));
    const cancelled = ids.filter((_, index) => replies[index]?.status === 200);
    const others = ids.filter((id) => !cancelled.includes(id));
    for (const id of others) await untilMessage(context, id, { status: "accepted" });
    await until(
      "nothing waits",
      async () => (await db.query("select from sends where channel_id = $1", [channel])).length === 0,
    );
    for (const id of cancelled) t.equal((await readMessage(context, id)).status, "cancelled");
    t.equal(platform.received.length, others.length, `${others.length} of 60 were sent`);
  });
});
