import t, { type Test } from "tap";
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { firstIdAt } from "../../../src/runtime/ids.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { insertMessage, readMessageState, readMessageStates } from "../../fixtures/messages/message-rows.ts";
import { conversationWebhook, readClientEvents, sendWebhook } from "../../fixtures/platforms/webhooks.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

const PERSON = "24681012";

/** A client with a page, and functions that insert sent messages and post updates about them. */
async function setUpPage(t: Test) {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const pageId = newPlatformId();
  const channelId = await makeChannel(api, tenant, { platform: "socialapp", pageId, externalRef: "page-7" });
  let sentCount = 0;
  /** Accepted here and by the platform at `time`, unless `acceptedAt` is given. */
  const insertSent = (
    time: number,
    { acceptedAt = time, ...columns }: Record<string, unknown> & { acceptedAt?: number } = {},
  ) =>
    insertMessage(api, tenant, {
      ...{ platform: "socialapp", channel_id: channelId, recipient: PERSON, recipient_kind: "scoped_id" },
      id: firstIdAt("msg", time) + String(++sentCount).padStart(16, "0"),
      status: "sent",
      timeline: JSON.stringify([
        { status: "accepted", at: new Date(acceptedAt).toISOString() },
        { status: "sent", at: new Date(acceptedAt).toISOString() },
      ]),
      platform_message_id: `m_${sentCount}`,
      ...columns,
    });
  const sendUpdates = (...events: object[]) =>
    sendWebhook(
      api,
      conversationWebhook(
        "page",
        pageId,
        events.map((event) => ({ sender: { id: PERSON }, recipient: { id: pageId }, ...event })),
      ),
    );
  return { api, tenant, channelId, pageId, insertSent, sendUpdates };
}

const statusesOf = async (api: Api, ids: readonly string[]) =>
  (await readMessageStates(api, ids)).map(({ status }) => status);

const lastLogLine = (api: Api) => api.lines.filter(({ event }) => event === "webhook.received").at(-1);

t.test("a watermark records an event for each message of ours up to its time", async (t) => {
  const { api, tenant, channelId, insertSent, sendUpdates } = await setUpPage(t);
  const mark = Date.now() - HOUR;
  const one = await insertSent(mark - 2 * MINUTE, { external_ref: "order-9" });
  const other = await insertSent(mark);
  const later = await insertSent(mark + 1);
  const raw = { delivery: { mids: ["m_77"], watermark: mark }, timestamp: mark + SECOND };
  t.equal((await sendUpdates(raw)).status, 200);
  t.match(lastLogLine(api), { updates: 1, recorded: 2, duplicate: 0, unknown_asset: 0, ignored: 0 });
  const at = new Date(mark + SECOND).toISOString();
  t.match(await readMessageState(api, one), {
    status: "delivered",
    timeline: { 2: { status: "delivered", at } },
  });
  t.same(await statusesOf(api, [other, later]), ["delivered", "sent"]);
  const events = await readClientEvents(api, tenant.id);
  const eventFor = (id: string) => events.find(({ message_id }) => message_id === id);
  t.match(eventFor(one)?.payload, {
    type: "message.status",
    key: "socialapp",
    channel_id: channelId,
    external_ref: "order-9",
    channel_external_ref: "page-7",
    occurred_at: at,
    data: {
      message_id: one,
      platform_message_id: "m_1",
      status: "delivered",
      at,
      recipient: PERSON,
      errors: [],
    },
    raw,
  });
  t.match(eventFor(other)?.payload, {
    external_ref: undefined,
    channel_external_ref: "page-7",
    data: { message_id: other, platform_message_id: "m_2" },
  });
  t.equal(events.length, 2);
  await sendUpdates(raw);
  t.match(
    lastLogLine(api),
    { updates: 1, recorded: 0, duplicate: 0, ignored: 1 },
    "a repeated watermark covers no message",
  );
  await sendUpdates({ read: { watermark: mark + 1 } });
  t.same(await statusesOf(api, [one, other, later]), ["read", "read", "read"]);
  t.same(
    (await readMessageState(api, later)).timeline.map(({ status }) => status),
    ["accepted", "sent", "read"],
    "steps may be skipped",
  );
  t.match(lastLogLine(api), { recorded: 3 });
});

t.test("a watermark covers only settled messages of its channel and person", async (t) => {
  const { api, tenant, pageId, insertSent, sendUpdates } = await setUpPage(t);
  const other = await makeTenant(api);
  const now = Date.now();
  const before = now - MINUTE;
  const OUTCOME_UNKNOWN = JSON.stringify({ code: "outcome_unknown" });
  const cases: [string, Record<string, unknown>, string][] = [
    ["sent", {}, "read"],
    ["accepted", { status: "accepted" }, "read"],
    ["delivered", { status: "delivered" }, "read"],
    ["without a platform id", { platform_message_id: null }, "read"],
    ["without a time", { timeline: "[]" }, "read"],
    ["accepted shortly after the watermark", { acceptedAt: now + 5 * SECOND }, "read"],
    ["sent long after the watermark", { acceptedAt: now + MINUTE }, "sent"],
    ["read already", { status: "read" }, "read"],
    ["queued", { status: "queued" }, "queued"],
    ["unknown", { status: "unknown" }, "unknown"],
    ["failed", { status: "failed" }, "failed"],
    ["failed as unknown", { status: "failed", error: OUTCOME_UNKNOWN }, "failed"],
    ["to another person", { recipient: "13579" }, "sent"],
    ["from another channel", { channel_id: "ch_other" }, "sent"],
    ["of another client", { client_id: other.id }, "sent"],
  ];
  const ids: string[] = [];
  for (const [, columns] of cases) ids.push(await insertSent(before, columns));
  const [old, recent] = [await insertSent(now - 31 * DAY), await insertSent(now - 29 * DAY)];
  await sendUpdates({ read: { watermark: now } });
  const statuses = await statusesOf(api, ids);
  for (const [index, [name, , expected]] of cases.entries()) t.equal(statuses[index], expected, name);
  t.same(await statusesOf(api, [old, recent]), ["sent", "read"], "very old messages are ignored");
  const told = (await readClientEvents(api, tenant.id)).map(({ message_id }) => message_id);
  const moved = ids.filter(
    (_, index) => cases[index]?.[2] === "read" && cases[index]?.[0] !== "read already",
  );
  t.same(told.sort(), [...moved, recent].sort());
  t.same(await readClientEvents(api, other.id), []);
  const unknownPage = conversationWebhook("page", newPlatformId(), [
    { sender: { id: PERSON }, read: { watermark: now } },
  ]);
  await sendWebhook(api, unknownPage);
  t.match(lastLogLine(api), { updates: 1, unknown_asset: 1, ignored: 0, recorded: 0 });
  const malformed = [
    { read: { watermark: "soon" } },
    { delivery: {} },
    { delivery: { watermark: now }, sender: { id: "\u0000" } },
    { read: { watermark: now }, sender: null },
    { read: { watermark: now }, sender: { id: "13579" }, recipient: { id: pageId } },
    { read: { watermark: 253_000_000_000_000 }, sender: { id: "1".repeat(33) } },
  ];
  t.equal((await sendUpdates(...malformed)).status, 200);
  t.match(lastLogLine(api), {
    updates: malformed.length,
    recorded: 1,
    ignored: malformed.length - 1,
    duplicate: 0,
  });
});

t.test("watermarks are applied together with other updates in one webhook", async (t) => {
  const { api, tenant, insertSent, sendUpdates } = await setUpPage(t);
  const now = Date.now();
  const ids = [await insertSent(now - MINUTE), await insertSent(now - SECOND)];
  await sendUpdates(
    { read: { watermark: now - 30 * SECOND } },
    { message: { mid: "m_in", text: "Hi" } },
    { delivery: { watermark: now } },
    { delivery: { watermark: now - 30 * SECOND } },
    { read: { mid: "m_1" } },
  );
  t.same(await statusesOf(api, ids), ["read", "delivered"]);
  t.match(lastLogLine(api), { updates: 5, recorded: 3, duplicate: 0, ignored: 2 });
  const told = (await readClientEvents(api, tenant.id)).map(({ type, message_id, payload: { data } }) =>
    type === "message.status"
      ? `${ids.indexOf(message_id as string)} ${data.status}`
      : data.platform_message_id,
  );
  t.same(
    told.sort(),
    ["0 read", "1 delivered", "m_in"],
    "a message that is read no longer gets a delivered event",
  );
});

t.test("concurrent watermarks record each event once", async (t) => {
  const { api, tenant, insertSent, sendUpdates } = await setUpPage(t);
  const now = Date.now();
  for (let index = 0; index < 20; index++) await insertSent(now - MINUTE + index);
  const replies = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      sendUpdates(
        { [index % 2 ? "read" : "delivery"]: { watermark: now } },
        { read: { watermark: now - 1 } },
      ),
    ),
  );
  t.same(
    replies.map(({ status }) => status),
    Array(6).fill(200),
  );
  const told = (await readClientEvents(api, tenant.id)).map(
    ({ message_id, payload }) => `${message_id} ${payload.data.status}`,
  );
  t.equal(new Set(told).size, told.length);
  t.equal(told.filter((one) => one.endsWith("read")).length, 20);
});

t.test("a receipt on the photo platform names its message, or the caption of one", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const photoappUserId = newPlatformId();
  const channelId = await makeChannel(api, tenant, { platform: "photoapp", photoappUserId });
  const common = {
    ...{ platform: "photoapp", channel_id: channelId, recipient: PERSON, recipient_kind: "scoped_id" },
    status: "sent",
  };
  const plain = await insertMessage(api, tenant, { ...common, platform_message_id: "m_1" });
  const both = await insertMessage(api, tenant, {
    ...common,
    platform_message_id: "m_2",
    caption_message_id: "m_3",
  });
  const read = (mid: string) => ({ sender: { id: PERSON }, timestamp: 1790000000123, read: { mid } });
  const webhook = conversationWebhook("instagram", photoappUserId, ["m_1", "m_2", "m_3", "m_4"].map(read));
  await sendWebhook(api, webhook);
  t.same(
    (await readClientEvents(api, tenant.id)).map(({ message_id, payload }) => [
      message_id,
      payload.data.platform_message_id,
    ]),
    [
      [plain, "m_1"],
      [both, "m_2"],
      [both, "m_3"],
      [null, "m_4"],
    ],
  );
  const timeline = [{ status: "read", at: "2026-09-21T14:13:20.123Z" }];
  for (const id of [plain, both]) t.match(await readMessageState(api, id), { status: "read", timeline });
  t.equal((await readMessageState(api, both)).timeline.length, 1);
});
