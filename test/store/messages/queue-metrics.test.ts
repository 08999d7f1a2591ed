import t from "tap";
import { HOUR } from "../../../src/runtime/durations.ts";
import { updateMessageStatuses } from "../../../src/store/messages/message-statuses.ts";
import { countFailedMessages, groupSends } from "../../../src/store/messages/queue-metrics.ts";
import {
  insertClientWithLastByte,
  openQueueContext,
  secondsFromNow,
} from "../../fixtures/events/queue-rows.ts";
import { insertBatch, insertBatchMessage } from "../../fixtures/messages/batch-rows.ts";
import { insertMessage, insertSend } from "../../fixtures/messages/message-rows.ts";
import { countRowsOfPlans, insertManySends, openSendQueue } from "../../fixtures/messages/send-queue.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

t.test("each send that is not finished is in one group, by what it waits for", async (t) => {
  const context = await openQueueContext(t);
  const client = { id: context.clientId };
  const connected = await makeChannel(context, client);
  const expired = await makeChannel(context, client);
  await context.db.query("update channels set status = 'needs_reauth' where id = $1", [expired]);
  const later = secondsFromNow(60);
  const insert = async (columns: Record<string, unknown>) => {
    const id = await insertMessage(context, client);
    await insertSend(context, client, { id, channel_id: connected, ...columns });
    return id;
  };
  const first = await insert({ next_attempt_at: secondsFromNow(-20) });
  await insert({ attempts: 1, next_attempt_at: secondsFromNow(-40) });
  await insert({ attempts: 1, next_attempt_at: later });
  await insert({ state: "behind" });
  await insert({ state: "claimed" });
  await insert({ state: "unknown", attempts: 1, next_attempt_at: later });
  await insert({ channel_id: expired, next_attempt_at: later });
  await insert({ channel_id: expired, state: "behind" });
  const groups = await groupSends(context.db);
  const countOf = (wanted: string) =>
    groups.reduce((sum, { situation, count }) => (situation === wanted ? sum + count : sum), 0);
  t.same(Object.fromEntries(groups.map(({ situation }) => [situation, countOf(situation)])), {
    due: 2,
    retry: 1,
    order: 1,
    in_flight: 1,
    unknown: 1,
    reconnect: 2,
  });
  const due = groups.find(({ situation }) => situation === "due");
  t.match(due, { channel_id: connected, oldest_id: first });
  t.ok(Date.now() - (due?.next_attempt_at?.getTime() ?? 0) >= 40_000);
});

t.test(
  "sends that are scheduled, and those of a paused batch in any state, are groups of their own",
  async (t) => {
    const context = await openQueueContext(t);
    const client = { id: context.clientId };
    const other = { id: await insertClientWithLastByte(context.db, 9) };
    const [connected, expired] = [await makeChannel(context, client), await makeChannel(context, client)];
    const ofOther = await makeChannel(context, other);
    await context.db.query("update channels set status = 'needs_reauth' where id = $1", [expired]);
    const id = await insertMessage(context, client, { status: "scheduled" });
    const send = { channel_id: connected, state: "scheduled", next_attempt_at: secondsFromNow(60) };
    await insertSend(context, client, { id, ...send });
    const fill = async (
      owner: typeof client,
      columns: { channel_id: string; status: string; active_since?: Date },
    ) => {
      const batch_id = await insertBatch(context, owner, columns);
      for (const state of ["scheduled", "behind", "waiting", "claimed", "unknown"])
        await insertBatchMessage(context, owner, { batch_id, channel_id: columns.channel_id, state });
    };
    await fill(client, { channel_id: connected, status: "paused" });
    await fill(client, { channel_id: expired, status: "paused" });
    const activeSince = secondsFromNow(-500);
    await fill(client, { channel_id: connected, status: "running", active_since: activeSince });
    await fill(other, { channel_id: ofOther, status: "running" });
    const groups = await groupSends(context.db);
    const countsOf = (channelId: string) =>
      Object.fromEntries(
        groups
          .filter(({ channel_id }) => channel_id === channelId)
          .map(({ situation, count }) => [situation, count]),
      );
    t.same(countsOf(connected), { scheduled: 2, paused: 3, order: 1, due: 1, in_flight: 2, unknown: 2 });
    t.same(countsOf(expired), { paused: 3, in_flight: 1, unknown: 1 });
    t.same(countsOf(ofOther), { scheduled: 1, order: 1, due: 1, in_flight: 1, unknown: 1 });
    const due = groups.find(({ situation, channel_id }) => situation === "due" && channel_id === connected);
    t.same(due?.active_since, activeSince);
  },
);

t.test("batches are joined to counts, not to each send", async (t) => {
  const context = await openSendQueue(t);
  const { channelId: channel_id } = context;
  const count = 2_000;
  const batch_id = await insertBatch(context, { id: context.clientId }, { channel_id, status: "paused" });
  await insertManySends(context, { count });
  await context.db.query("update sends set batch_id = $1, expires_at = 'infinity'", [batch_id]);
  await context.db.query("analyze sends, batches, channels");
  t.match(await groupSends(context.db), [{ situation: "paused", count }]);
  const rows = await countRowsOfPlans(context, groupSends);
  for (const read of Object.values(rows)) t.ok(read < 2 * count, `${read} rows were read`);
});

t.test("an unknown send whose message a status webhook has settled is not counted", async (t) => {
  const context = await openQueueContext(t);
  const client = { id: context.clientId };
  const insert = async (status: string) => {
    const id = await insertMessage(context, client, { status });
    await insertSend(context, client, { id, state: "unknown", attempts: 1 });
    return id;
  };
  await insert("read");
  t.same(await groupSends(context.db), []);
  const id = await insert("unknown");
  t.match(await groupSends(context.db), [{ situation: "unknown", count: 1, oldest_id: id }]);
});

t.test("messages that failed recently are counted", async (t) => {
  const context = await openQueueContext(t);
  const client = { id: context.clientId };
  await insertMessage(context, client, { status: "failed", failed_at: secondsFromNow(-60) });
  await insertMessage(context, client, { status: "failed", failed_at: secondsFromNow(-7_200) });
  await insertMessage(context, client, { status: "read", failed_at: secondsFromNow(-60) });
  const sent = await insertMessage(context, client, { status: "sent" });
  const failed = new Date().toISOString();
  const update = { client_id: client.id, id: sent, platform_message_id: null, failed };
  await updateMessageStatuses(context.db, [update]);
  t.same(await countFailedMessages(context.db, 1 * HOUR), [
    { client_id: client.id, is_bulk: false, count: 2 },
  ]);
});
