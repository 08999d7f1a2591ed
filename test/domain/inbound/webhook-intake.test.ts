import t, { type Test } from "tap";
import { createWebhookIntake, type IncomingWebhook } from "../../../src/domain/inbound/webhook-intake.ts";
import { readWebhook } from "../../../src/platforms/webhooks/read-webhook.ts";
import { MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { openJson } from "../../../src/runtime/json/json-source.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { markClientDeleted } from "../../../src/store/tenants/client-erasure.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { insertMessage, readMessageState } from "../../fixtures/messages/message-rows.ts";
import {
  conversationWebhook,
  pageWebhook,
  readClientEvents,
  statusWebhook,
} from "../../fixtures/platforms/webhooks.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** As many groups run at a time; the webhooks after them share the next group. */
const CONCURRENT_GROUPS = 2;

const toIncoming = (webhook: object | string): IncomingWebhook => {
  const text = typeof webhook === "string" ? webhook : JSON.stringify(webhook);
  return { updates: [...readWebhook(openJson(text)).updates], bytes: text.length };
};

/** A database whose statements can be counted, held and rejected. */
function watchDatabase(real: Database) {
  let gate: Promise<void> = Promise.resolve();
  let open = () => {};
  const watched = {
    statements: 0,
    /** Statements whose parameters contain one of these texts wait or fail. */
    heldText: "",
    rejectedText: "nothing is rejected",
    hold(text = "") {
      watched.heldText = text;
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    release: () => open(),
    db: {
      ...real,
      async query<Row extends object>(...[statement, values = []]: Parameters<Database["query"]>) {
        watched.statements++;
        if (values.some((value) => String(value).includes(watched.rejectedText)))
          throw new Error("rejected by the test");
        if (watched.heldText === "" || values.some((value) => String(value).includes(watched.heldText)))
          await gate;
        return real.query<Row>(statement, values);
      },
    } satisfies Database,
  };
  return watched;
}

const NO_NOTIFIER = { epoch: () => null, notify() {} };

const fetchLeads = async (webhook: IncomingWebhook) => webhook;

const startedApi = startApi(t);

/** The timeout is long, for slow machines. */
async function setUp(t: Test, timeoutMs = 10 * MINUTE) {
  const api = await startedApi;
  const watched = watchDatabase(api.db);
  t.teardown(() => watched.release()); // a failed test must not keep the others waiting
  const intake = createWebhookIntake({ db: watched.db, notifier: NO_NOTIFIER, fetchLeads }, timeoutMs);
  const makeClient = async () => {
    const [tenant, pageId] = [await makeTenant(api), newPlatformId()];
    await makeChannel(api, tenant, { platform: "socialapp", pageId });
    return { tenant, pageId };
  };
  const receive = (webhook: object | string) => intake.receive(toIncoming(webhook));
  /** Fills the running groups, so that the webhooks received before `release` form one group. */
  const occupyGroups = async () => {
    const { pageId } = await makeClient();
    watched.hold();
    const running = Array.from({ length: CONCURRENT_GROUPS }, async (_, index) => {
      for (let turn = 0; turn < 2 * index; turn++) await new Promise((resolve) => setImmediate(resolve));
      return receive(pageWebhook(pageId, [`running.${index}`]));
    });
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    t.equal(watched.statements, CONCURRENT_GROUPS);
    return { release: watched.release, finished: Promise.all(running) };
  };
  const messageIdsOf = async ({ id }: Tenant) =>
    (await readClientEvents(api, id)).map(({ payload }) => payload.data.platform_message_id).sort();
  return { api, watched, makeClient, receive, occupyGroups, messageIdsOf };
}

t.test("concurrent webhooks of all platforms share statements and have results of their own", async (t) => {
  const { api, watched, makeClient, receive, occupyGroups, messageIdsOf } = await setUp(t);
  const clients = [await makeClient(), await makeClient()];
  const [chat, phoneNumberId] = [await makeTenant(api), newPlatformId()];
  await makeChannel(api, chat, { phoneNumberId });
  const { release, finished } = await occupyGroups();
  const results = clients.flatMap(({ pageId }) =>
    Array.from({ length: 10 }, (_, index) => receive(pageWebhook(pageId, [`m.${index}`, `n.${index}`]))),
  );
  const status = receive(
    statusWebhook(phoneNumberId, [{ id: "wamid.1", status: "sent", timestamp: "1790000000" }]),
  );
  const foreign = receive(pageWebhook("999", ["m.1"]));
  release();
  await finished;
  const received = await Promise.all(results);
  t.equal(
    watched.statements,
    2 * CONCURRENT_GROUPS + 4,
    "two lookups, one search for the message, one insertion",
  );
  for (const { counts, eventIds } of received) {
    t.match(counts, { updates: 2, recorded: 2, duplicate: 0, unknown_asset: 0, ignored: 0 });
    t.equal(eventIds.length, 2);
  }
  t.equal(new Set(received.flatMap(({ eventIds }) => eventIds)).size, 40);
  t.match((await status).counts, { updates: 1, recorded: 1 });
  t.match(await foreign, {
    counts: { recorded: 0, unknown_asset: 1 },
    eventIds: [],
    unknownAssets: [{ id: "999" }],
  });
  for (const { tenant } of clients) t.equal((await messageIdsOf(tenant)).length, 20);
});

t.test("an update that several webhooks of a group contain is recorded once", async (t) => {
  const { makeClient, receive, occupyGroups, messageIdsOf } = await setUp(t);
  const { tenant, pageId } = await makeClient();
  const { release, finished } = await occupyGroups();
  const results = ["a", "b", "c"].map((own) => receive(pageWebhook(pageId, ["m.same", own])));
  release();
  await finished;
  const counts = (await Promise.all(results)).map(({ counts: { recorded, duplicate } }) => [
    recorded,
    duplicate,
  ]);
  t.same(counts, [
    [2, 0],
    [1, 1],
    [1, 1],
  ]);
  t.same(await messageIdsOf(tenant), ["a", "b", "c", "m.same"]);
});

t.test("a webhook that the database rejects fails alone, within a few statements", async (t) => {
  const { watched, makeClient, receive, occupyGroups, messageIdsOf } = await setUp(t);
  const { tenant, pageId } = await makeClient();
  const { release, finished } = await occupyGroups();
  watched.rejectedText = "m.rejected";
  const ids = Array.from({ length: 64 }, (_, index) => (index === 41 ? "m.rejected" : `m.${index}`));
  const results = Promise.allSettled(ids.map((id) => receive(pageWebhook(pageId, [id]))));
  release();
  await finished;
  const outcomes = await results;
  t.same(
    ids.filter((_, index) => outcomes[index]?.status === "rejected"),
    ["m.rejected"],
  );
  t.ok(
    outcomes.every((outcome) => outcome.status === "rejected" || outcome.value.counts.recorded === 1),
    "the others count as recorded, not as duplicates",
  );
  t.same(await messageIdsOf(tenant), ids.filter((id) => id !== "m.rejected").sort());
  t.ok(watched.statements < 40, "the webhook is found by halves");
});

t.test("events of a client that is deleted after its channel was found are not recorded", async (t) => {
  const { api, watched, makeClient, receive, messageIdsOf } = await setUp(t);
  const [gone, other] = [await makeClient(), await makeClient()];
  const entries = [gone, other].flatMap(({ pageId }) => JSON.parse(pageWebhook(pageId, ["m.late"])).entry);
  watched.hold("m.late");
  const received = receive({ object: "page", entry: entries });
  await until("the events are about to be inserted", () => watched.statements === 2);
  await markClientDeleted(api.db, gone.tenant.id);
  watched.release();
  t.match((await received).counts, { updates: 2, recorded: 1 });
  t.same(await messageIdsOf(gone.tenant), []);
  t.same(await messageIdsOf(other.tenant), ["m.late"]);
});

t.test("statuses of one message in several webhooks of a group leave it in its last status", async (t) => {
  const { api, receive, occupyGroups } = await setUp(t);
  const [tenant, phoneNumberId] = [await makeTenant(api), newPlatformId()];
  const channel_id = await makeChannel(api, tenant, { phoneNumberId });
  const sent = { channel_id, status: "accepted", platform_message_id: "wamid.1" };
  const id = await insertMessage(api, tenant, sent);
  const { release, finished } = await occupyGroups();
  const words = ["read", "sent", "delivered"];
  const results = words.map((status, index) =>
    receive(
      statusWebhook(phoneNumberId, [{ id: "wamid.1", status, timestamp: String(1_790_000_000 + index) }]),
    ),
  );
  release();
  await finished;
  for (const { counts, messageIds } of await Promise.all(results)) {
    t.match(counts, { recorded: 1, duplicate: 0 });
    t.same([...messageIds], [id]);
  }
  const { status, timeline } = await readMessageState(api, id);
  t.equal(status, "read");
  t.same(
    timeline.map((step) => step.status),
    ["sent", "delivered", "read"],
  );
});

t.test("heavy webhooks and those with transactions of their own do not delay the others", async (t) => {
  const { watched, makeClient, receive, messageIdsOf } = await setUp(t);
  const { tenant, pageId } = await makeClient();
  watched.hold("heavy");
  const heavyId = (name: string) => `heavy.${name}.${"x".repeat(300_000)}`;
  const heavy = ["a", "b", "c"].map((name) => receive(pageWebhook(pageId, [heavyId(name)])));
  t.match((await receive(pageWebhook(pageId, ["m.1"]))).counts, { recorded: 1 });
  watched.release();
  for (const { counts } of await Promise.all(heavy)) t.match(counts, { recorded: 1 });
  t.equal((await messageIdsOf(tenant)).length, 4);

  watched.hold("m.held");
  const held = ["1", "2"].map((name) => receive(pageWebhook(pageId, [`m.held.${name}`])));
  const watermark = { sender: { id: "9" }, recipient: { id: pageId }, read: { watermark: Date.now() } };
  let ignored: number | undefined;
  void receive(conversationWebhook("page", pageId, [watermark])).then(({ counts }) => {
    ignored = counts.ignored;
  });
  await until("the watermark is received beside the others", () => ignored === 1);
  watched.release();
  await Promise.all(held);
});

t.test("a webhook that is pending for too long is refused and not recorded later", async (t) => {
  const { makeClient, receive, occupyGroups, messageIdsOf } = await setUp(t, 5 * SECOND);
  const { tenant, pageId } = await makeClient();
  const { release, finished } = await occupyGroups();
  await Promise.all([
    t.rejects(finished, { name: "DatabaseUnavailable" }),
    t.rejects(receive(pageWebhook(pageId, ["m.1"])), { name: "DatabaseUnavailable" }),
  ]);
  release();
  t.match((await receive(pageWebhook(pageId, ["m.2"]))).counts, { recorded: 1 });
  t.same(await messageIdsOf(tenant), ["m.2"]);
});

t.test("a running webhook is refused after the timeout, and its repetition finds duplicates", async (t) => {
  const { watched, makeClient, receive, messageIdsOf } = await setUp(t, 1 * SECOND);
  const { tenant, pageId } = await makeClient();
  const watermark = { sender: { id: "9" }, recipient: { id: pageId }, read: { watermark: Date.now() } };
  const heavyId = `m.heavy.${"x".repeat(300_000)}`;
  const webhooks = {
    shared: pageWebhook(pageId, ["m.shared"]),
    heavy: pageWebhook(pageId, [heavyId]),
    "with a transaction of its own": conversationWebhook("page", pageId, [watermark]),
  };
  watched.hold();
  for (const [name, webhook] of Object.entries(webhooks))
    await t.rejects(receive(webhook), { name: "DatabaseUnavailable" }, name);
  watched.release();
  const ids = [heavyId, "m.shared"];
  await until(
    "the refused webhooks are recorded",
    async () => (await messageIdsOf(tenant)).length === ids.length,
  );
  t.match((await receive(webhooks.shared)).counts, { recorded: 0, duplicate: 1 });
  t.same(await messageIdsOf(tenant), ids);
});
