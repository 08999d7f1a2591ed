import t, { type Test } from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { createDeliveryPoll } from "../../../src/store/events/claim-deliveries.ts";
import { createLostDeliveryFinder } from "../../../src/store/events/recover-deliveries.ts";
import { createSendPoll, type SendKey } from "../../../src/store/messages/claim-sends.ts";
import { createOverdueSendFinder, RECOVERY_STEPS } from "../../../src/store/messages/overdue-sends.ts";
import { LEASE_LIMITS } from "../../../src/store/processes/workers.ts";
import {
  insertClientWithLastByte,
  insertDueDeliveries,
  openQueueContext,
} from "../../fixtures/events/queue-rows.ts";
import { insertBatch } from "../../fixtures/messages/batch-rows.ts";
import { insertQueued, openSendQueue, type SendQueueContext } from "../../fixtures/messages/send-queue.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

/** A read over the index entries of finished rows takes longer; a read of these pages needs several turns. */
const LIMITS = { maxReadMs: 1, maxPages: 8 };
const MAX_TURNS = 2_000;

/** Keeps everything that is deleted from now on, as a backup does. */
async function takeSnapshot(t: Test, url: string): Promise<void> {
  const raw = await connectRawClient(t, url);
  await raw.query("begin isolation level repeatable read");
  await raw.query("select 1 from clients");
}

t.test(
  "while an old snapshot keeps finished deliveries, due and lost ones are found page by page",
  async (t) => {
    const context = await openQueueContext(t);
    const { db, clientId } = context;
    const poll = createDeliveryPoll(db, LIMITS);
    const findLost = createLostDeliveryFinder(db, LIMITS);
    const claimed = { worker_id: "wrk_gone", claimed_at: new Date(0) };
    const [lost] = await insertDueDeliveries(context, 1, claimed);
    await insertDueDeliveries(context, 1);
    await takeSnapshot(t, context.config.DATABASE_URL);
    for (const worker of [null, "wrk_1"])
      await db.query(
        `insert into delivery_queue (id, client_id, worker_id, claimed_at)
      select 'finished ' || coalesce($2, '') || n, $1, $2, now() from generate_series(1, 20000) n`,
        [clientId, worker],
      );
    await db.query("delete from delivery_queue where id like 'finished %'");
    const other = await insertClientWithLastByte(db, 1);
    await insertDueDeliveries({ db, clientId: other }, 1);
    const first = await poll(undefined, 10);
    t.ok(
      first.some((key) => key.clientId === other),
      "the newest row is found at once",
    );
    const found = new Set<string>();
    for (let turns = 0; found.size < 3 && turns < MAX_TURNS; turns++) {
      for (const key of await poll(undefined, 10)) found.add(key.clientId);
      for (const id of await findLost(LEASE_LIMITS)) found.add(id);
    }
    t.same([...found].sort(), [clientId, other, lost?.id].sort());
  },
);

/** A send for each step of the recovery; returns their ids in the order of the steps. */
async function insertOverdue(context: SendQueueContext): Promise<Record<string, string>> {
  const past = new Date(Date.now() - 100 * SECOND);
  const claimed = { state: "claimed", worker_id: "wrk_gone", claimed_at: past };
  const disconnected = await makeChannel(context, { id: context.clientId });
  await context.db.query("update channels set status = 'disconnected' where id = $1", [disconnected]);
  await insertBatch(
    context,
    { id: context.clientId },
    { id: "bat_1", channel_id: context.channelId, expires_at: past },
  );
  const columns = {
    requeue_unstarted: claimed,
    mark_unknown: { ...claimed, sending_at: past },
    fail_unknown: { state: "unknown", next_attempt_at: past },
    fail_expired: { expires_at: past },
    fail_quarantined: { deaths: 5 },
    fail_expired_in_batch: { batch_id: "bat_1" },
    fail_disconnected: { channel_id: disconnected },
    start_due: { state: "scheduled", next_attempt_at: past },
    release_missed: { state: "behind", recipient: "another" },
  };
  const ids: Record<string, string> = {};
  for (const [step, values] of Object.entries(columns)) ids[step] = await insertQueued(context, values);
  return ids;
}

const textOf = ({ channelId, batchId, isSuspect }: SendKey) => `${channelId} ${batchId} ${isSuspect}`;

t.test("the sends of each step of the recovery are found by the indexes and in pages", async (t) => {
  const context = await openSendQueue(t);
  const { db } = context;
  const ids = await insertOverdue(context);
  const expected = RECOVERY_STEPS.map((step) => [step, [ids[step]]]);
  const toIds = (found: Awaited<ReturnType<ReturnType<typeof createOverdueSendFinder>>>) =>
    RECOVERY_STEPS.map((step) => [step, found.get(step)?.map(({ id }) => id) ?? []]);
  t.same(toIds(await createOverdueSendFinder(db)(LEASE_LIMITS)), expected);
  const poll = createSendPoll(db, LIMITS);
  const due = await createSendPoll(db)(undefined, 10);
  await takeSnapshot(t, context.config.DATABASE_URL);
  for (const state of ["waiting", "behind"])
    await db.query(
      `insert into sends (client_id, id, channel_id, recipient, state, expires_at)
      select $1, $3 || n, $2, n::text, $3, now() + interval '1 day' from generate_series(1, 20000) n`,
      [context.clientId, context.channelId, state],
    );
  await db.query("delete from sends where id ~ '^(waiting|behind)'");
  const find = createOverdueSendFinder(db, LIMITS);
  const found = new Map<string, string[]>();
  const keys = new Set<string>();
  for (
    let turns = 0;
    (found.size < RECOVERY_STEPS.length || keys.size < due.length) && turns < MAX_TURNS;
    turns++
  ) {
    for (const [step, refs] of await find(LEASE_LIMITS))
      found.set(
        step,
        refs.map(({ id }) => id),
      );
    for (const key of await poll(undefined, 10)) keys.add(textOf(key));
  }
  t.same(
    RECOVERY_STEPS.map((step) => [step, found.get(step)]),
    expected,
  );
  t.same([...keys].sort(), due.map(textOf).sort());
});
