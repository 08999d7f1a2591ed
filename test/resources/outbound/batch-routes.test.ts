import t, { type Test } from "tap";
import { DAY, MINUTE } from "../../../src/runtime/durations.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import {
  makeBatchSender,
  phones,
  readBatchEvents,
  sumOf,
  textBatch,
} from "../../fixtures/messages/batches.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

const inFuture = (ms: number) => new Date(Date.now() + ms).toISOString();
const TEMPLATE = { name: "order_update", language: { code: "pt_BR" } };

async function makeChannelSender(api: Api) {
  const sender = await makeBatchSender(api);
  return { ...sender, channel: await makeChannel(api, sender.tenant) };
}

t.test("batch routes", async (t) => {
  const api = await startApi(t, { settings: { CHANNEL_RATE_PER_SECOND: "50" } });

  await t.test("a batch is accepted with its messages, and the reply links to it", async (t) => {
    const { batches, channel, headers } = await makeChannelSender(api);
    const messages = phones(3).map((to, index) => ({ to, external_ref: `order-${index}` }));
    const reply = await batches.send(textBatch(channel, [], { messages, name: "spring" }));
    t.equal(reply.status, 202);
    const { batch_id, created_at, ...rest } = reply.body;
    t.same(rest, { status: "running", accepted: 3, rejected: [] });
    t.equal(reply.headers.get("location"), `/api/outbound/batches/${batch_id}`);
    const batch = await batches.read(batch_id);
    t.match(batch, { batch_id, created_at, name: "spring", type: "text", send_at: null, finished_at: null });
    t.equal(batch.counts.queued, 3);
    t.equal(sumOf(batch.counts), 3);
    const found = await batches.messages(batch_id);
    t.match(
      found,
      messages.map(({ to, external_ref }) => ({ to, external_ref, batch_id, status: "queued" })),
    );
    const path = `/api/outbound/messages/${found[0]?.message_id}/timeline`;
    t.match((await api.call("GET", path, { headers })).body.data[0], { type: "accepted", batch_id });
  });

  await t.test("a fault inside a message rejects that message only", (t) => testFaults(t, api));
  await t.test("a fault of the batch itself rejects all of it", (t) => testOwnFaults(t, api));
  await t.test("the same key and body return the first reply", (t) => testKeys(t, api));
  await t.test("send_at schedules a batch", (t) => testSendAt(t, api));
  await t.test("pause, resume and cancel follow the status", (t) => testChanges(t, api));
  await t.test("lists have the batches of the client only", (t) => testLists(t, api));
  await t.test("a client has at most 100 unfinished batches", (t) => testLimit(t, api));
});

async function testFaults(t: Test, api: Api): Promise<void> {
  const { batches, channel, tenant } = await makeChannelSender(api);
  const long = "x".repeat(262_100);
  const cases: [unknown, string, RegExp][] = [
    [{ to: "+5511988887777" }, "invalid_recipient", /digits only/],
    [{ to: "abc" }, "invalid_recipient", /to must be/],
    [{}, "validation_failed", /to is required/],
    ["5511988887777", "validation_failed", /object/],
    [null, "validation_failed", /object/],
    [{ to: 5511988887777 }, "validation_failed", /to must be/],
    [{ to: "5511988887777", body: "" }, "validation_failed", /body/],
    [{ to: "5511988887777", body: "a\u0000b" }, "validation_failed", /body/],
    [{ to: "5511988887777", components: [] }, "validation_failed", /components/],
    [{ to: "5511988887777", external_ref: "x".repeat(300) }, "validation_failed", /external_ref/],
    [{ to: "5511988887777", unknown: 1 }, "validation_failed", /unknown/],
  ];
  const valid = { to: "5511900000001" };
  const reply = await batches.send(
    textBatch(channel, [], { messages: [...cases.map(([entry]) => entry), valid] }),
  );
  t.equal(reply.status, 202, reply.text);
  t.equal(reply.body.accepted, 1);
  t.same(
    reply.body.rejected.map(({ index, error }: Record<string, unknown>) => [index, error]),
    cases.map(([, error], index) => [index, error]),
  );
  for (const [index, [, , pattern]] of cases.entries()) t.match(reply.body.rejected[index].message, pattern);

  const templates = textBatch(channel, [], {
    ...{ type: "template", text: undefined, template: TEMPLATE },
    messages: [
      { to: "5511900000001", components: [{ type: "body", parameters: [{ type: "text", text: long }] }] },
      { to: "5511900000002", components: "none" },
      { to: "5511900000003", body: "Hi" },
      { to: "5511900000004", components: [] },
      { to: "5511900000004" },
    ],
  });
  const template = await batches.send(templates);
  t.equal(template.body.accepted, 2, "equal recipients are both accepted");
  t.same(
    template.body.rejected.map(({ index }: { index: number }) => index),
    [0, 1, 2],
  );

  const own = await batches.send(textBatch(channel, ["5511900000001"], { text: {} }));
  t.equal(own.status, 400, "no text at all");
  t.match(own.body, { error: "validation_failed", details: [{ path: "/messages/0" }] });
  const none = await batches.send(textBatch(channel, ["x", "+1"]));
  t.match(none, { status: 400, body: { error: "invalid_recipient", details: [{}, {}] } });
  t.equal((await batches.list()).body.data.length, 2, "nothing of an invalid batch is accepted");
  const page = await makeChannel(api, tenant, { platform: "photoapp" });
  const ownTexts = await batches.send(
    textBatch(page, [], { text: {}, messages: [{ to: "123", body: "Hi" }] }),
  );
  t.equal(ownTexts.status, 202, "each message has a text of its own");
  const tooLong = await batches.send(
    textBatch(page, [], {
      messages: [
        { to: "123", body: "é".repeat(600) },
        { to: "124", body: "short" },
      ],
    }),
  );
  t.match(tooLong.body, { accepted: 1, rejected: [{ index: 0, error: "validation_failed" }] });
}

async function testOwnFaults(t: Test, api: Api): Promise<void> {
  const { batches, channel, headers, tenant } = await makeChannelSender(api);
  const other = await makeChannelSender(api);
  const disconnected = await makeChannel(api, tenant, {});
  await api.db.query("update channels set status = 'needs_reauth' where id = $1", [disconnected]);
  const valid = textBatch(channel, phones(2));
  const cases: [string, object, number, string?][] = [
    ["no messages", { messages: [] }, 400, "validation_failed"],
    ["too many messages", { messages: phones(1_001).map((to) => ({ to })) }, 400, "validation_failed"],
    ["no list", { messages: { to: "1" } }, 400, "validation_failed"],
    ["an unknown type", { type: "fax" }, 400, "unsupported_message_type"],
    ["no content", { text: undefined }, 400, "validation_failed"],
    ["another content", { template: TEMPLATE }, 400, "validation_failed"],
    ["an empty name", { name: "" }, 400, "validation_failed"],
    ["a long name", { name: "x".repeat(121) }, 400, "validation_failed"],
    ["a text that cannot be stored", { name: "a\u0000" }, 400, "validation_failed"],
    ["a rate of 0", { rate_per_second: 0 }, 400, "validation_failed"],
    ["a rate above that of the channel", { rate_per_second: 51 }, 400, "validation_failed"],
    ["a fraction as rate", { rate_per_second: 1.5 }, 400, "validation_failed"],
    ["messaging_type on chatapp", { messaging_type: "RESPONSE" }, 400, "validation_failed"],
    ["an unknown field", { context: { message_id: "x" } }, 400, "validation_failed"],
    ["large content", { text: { body: "x", extra: "y".repeat(262_144) } }, 400, "validation_failed"],
    ["an unknown channel", { channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd" }, 404, "not_found"],
    ["another client's channel", { channel_id: other.channel }, 404, "not_found"],
    ["a channel that is not connected", { channel_id: disconnected }, 409, "channel_disconnected"],
    ["a time without an offset", { send_at: "2026-11-02T09:00:00" }, 400, "validation_failed"],
    ["a time too far ahead", { send_at: inFuture(31 * DAY) }, 400, "validation_failed"],
    ["a time too far in the past", { send_at: inFuture(-6 * MINUTE) }, 400, "validation_failed"],
  ];
  for (const [name, change, status, error] of cases) {
    const reply = await batches.send({ ...valid, ...change });
    t.match(reply, { status, body: { error } }, `${name}: ${reply.text}`);
  }
  const withoutKey = await api.call("POST", "/api/outbound/batches", { headers, json: valid });
  t.match(withoutKey, { status: 400, body: { details: [{ path: "/Idempotency-Key" }] } });
  const body = "x".repeat(4_000);
  const large = { ...valid, messages: phones(1_000).map((to) => ({ to, body })), name: "y".repeat(100_000) };
  t.match(await batches.send(large), { status: 400 });
  const tooLarge = {
    ...valid,
    messages: phones(1_000).map((to) => ({ to, body, external_ref: "z".repeat(300) })),
  };
  t.match(await batches.send(tooLarge), { status: 413, body: { error: "payload_too_large" } });
  const { headers: otherScope } = await tenant.createKey("templates:manage");
  const forbidden = await api.call("GET", "/api/outbound/batches", { headers: otherScope });
  t.equal(forbidden.status, 403);
  t.equal((await batches.list()).body.data.length, 0, "nothing was accepted");
}

async function testKeys(t: Test, api: Api): Promise<void> {
  const { batches, channel } = await makeChannelSender(api);
  const headers = { "idempotency-key": "k1" };
  const json = textBatch(channel, [...phones(5), "x"], { send_at: inFuture(MINUTE) });
  const replies = await Promise.all([batches.send(json, headers), batches.send(json, headers)]);
  const again = await batches.send(json, headers);
  for (const reply of [...replies, again]) {
    t.equal(reply.status, 202);
    t.same(reply.body, replies[0]?.body);
  }
  t.equal(again.headers.get("idempotent-replay"), "true");
  t.equal((await batches.list()).body.data.length, 1);
  t.match(await batches.send({ ...json, name: "other" }, headers), { status: 422 });
  // The time and the channel are gone when the request is repeated.
  await api.db.query("update channels set status = 'disconnected' where id = $1", [channel]);
  t.same((await batches.send(json, headers)).body, again.body);
}

async function testSendAt(t: Test, api: Api): Promise<void> {
  const { batches, channel } = await makeChannelSender(api);
  const ahead = inFuture(29 * DAY);
  const scheduled = await batches.send(textBatch(channel, phones(2), { send_at: ahead }));
  t.equal(scheduled.body.status, "scheduled");
  const batch = await batches.read(scheduled.body.batch_id);
  t.match(batch, { status: "scheduled", send_at: ahead, counts: { scheduled: 2, queued: 0 } });
  t.match(await batches.messages(scheduled.body.batch_id), [
    { status: "scheduled", send_at: ahead, statuses: [{ status: "scheduled" }] },
    { status: "scheduled" },
  ]);
  const past = await batches.send(textBatch(channel, phones(2), { send_at: inFuture(-4 * MINUTE) }));
  t.equal(past.body.status, "running", "a short time ago counts as now");
}

async function testChanges(t: Test, api: Api): Promise<void> {
  const { batches, channel, headers } = await makeChannelSender(api);
  const other = await makeChannelSender(api);
  const change = async (id: string, name: "pause" | "resume" | "cancel") => {
    const { status, body } = await batches.change(id, name);
    return status === 200 ? body.status : body.error;
  };
  const running = await batches.start(textBatch(channel, phones(3)));
  for (const name of ["pause", "resume", "cancel"] as const) {
    t.match(await other.batches.change(running, name), { status: 404 }, "another client's batch");
    t.match(await batches.change("bat_01jc8m4t7v2x5k9w3r6y1b0nqd", name), { status: 404 });
    t.match(await batches.change("bat_1", name), { status: 400 });
  }
  t.equal((await batches.read(running)).status, "running");
  const steps: ["pause" | "resume" | "cancel", string][] = [
    ["resume", "running"],
    ["pause", "paused"],
    ["pause", "paused"],
    ["resume", "running"],
    ["cancel", "cancelled"],
    ["cancel", "cancelled"],
    ["pause", "invalid_state_transition"],
    ["resume", "invalid_state_transition"],
  ];
  for (const [name, expected] of steps) t.equal(await change(running, name), expected, name);
  t.same(
    (await readBatchEvents(api, running)).map(({ status, pause_reason }) => [status, pause_reason]),
    [
      ["paused", "requested"],
      ["running", null],
      ["cancelled", null],
    ],
  );
  const cancelled = await batches.read(running);
  t.match(cancelled, { counts: { cancelled: 3, queued: 0 }, pause_reason: null });
  t.ok(cancelled.finished_at, "nothing of it was in flight");
  t.equal((await api.db.query("select from sends where batch_id = $1", [running])).length, 0);
  const [message] = await batches.messages(running);
  const path = `/api/outbound/messages/${message?.message_id}`;
  t.match(
    (await api.call("DELETE", path, { headers })).body,
    { status: "cancelled" },
    "it is cancelled already",
  );

  const scheduled = await batches.start(textBatch(channel, phones(2), { send_at: inFuture(10 * MINUTE) }));
  t.equal(await change(scheduled, "resume"), "scheduled");
  t.equal(await change(scheduled, "pause"), "paused");
  t.equal((await batches.read(scheduled)).counts.scheduled, 2);
  t.equal(await change(scheduled, "resume"), "scheduled");
  t.equal(await change(scheduled, "pause"), "paused");
  await api.db.query("update batches set send_at = now() where id = $1", [scheduled]);
  t.equal(await change(scheduled, "resume"), "running", "its time has passed");
  t.equal((await batches.read(scheduled)).counts.queued, 2);
  await api.db.query("delete from sends where batch_id = $1", [scheduled]);
  await api.db.query("update batches set status = 'finished', finished_at = now() where id = $1", [
    scheduled,
  ]);
  for (const name of ["pause", "resume", "cancel"] as const)
    t.equal(await change(scheduled, name), "invalid_state_transition", name);
}

async function testLists(t: Test, api: Api): Promise<void> {
  const { batches, channel, tenant, list } = await makeChannelSender(api);
  const other = await makeChannelSender(api);
  const second = await makeChannel(api, tenant);
  const ids: string[] = [];
  for (const channelId of [channel, second, channel])
    ids.push(await batches.start(textBatch(channelId, phones(1))));
  await batches.change(ids[0] as string, "pause");
  const idsOf = async (query: string) =>
    (await batches.list(query)).body.data.map(({ batch_id }: { batch_id: string }) => batch_id);
  t.same(await idsOf(""), ids.toReversed());
  t.same(await idsOf(`?channel_id=${second}`), [ids[1]]);
  t.same(await idsOf("?status=paused"), [ids[0]]);
  t.same(await idsOf(`?status=running&channel_id=${channel}`), [ids[2]]);
  const first = (await batches.list("?limit=2")).body;
  t.same(await idsOf(`?limit=2&after=${first.paging.cursors.after}`), [ids[0]]);
  t.match(await batches.list("?status=sent"), { status: 400 });
  t.same((await other.batches.list()).body.data, []);
  t.match(await api.call("GET", `/api/outbound/batches/${ids[0]}`, { headers: other.headers }), {
    status: 404,
  });
  t.match(await other.list(`?batch_id=${ids[0]}`), { status: 404, body: { error: "not_found" } });
  t.match(await list("?batch_id=bat_01jc8m4t7v2x5k9w3r6y1b0nqd"), { status: 404 });
  t.equal((await list(`?batch_id=${ids[0]}&status=queued`)).body.data.length, 1);
  t.equal((await list(`?batch_id=${ids[0]}&status=sent`)).body.data.length, 0);
}

async function testLimit(t: Test, api: Api): Promise<void> {
  const { batches, channel } = await makeChannelSender(api);
  const sends = Array.from({ length: 103 }, () => batches.send(textBatch(channel, phones(1))));
  const replies = await Promise.all(sends);
  const statuses = replies.map(({ status }) => status);
  t.equal(statuses.filter((status) => status === 202).length, 100, "also at the same time");
  const refused = replies.filter(({ status }) => status === 429);
  t.equal(refused.length, 3);
  t.equal(refused[0]?.body.error, "rate_limited");
  t.ok(refused[0]?.headers.get("retry-after"));
  const [accepted] = replies.filter(({ status }) => status === 202);
  await batches.change(accepted?.body.batch_id, "cancel");
  t.equal((await batches.send(textBatch(channel, phones(1)))).status, 202);
  const other = await makeChannelSender(api);
  t.equal((await other.batches.send(textBatch(other.channel, phones(1)))).status, 202);
}
