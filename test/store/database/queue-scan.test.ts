import t, { type Test } from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Database } from "../../../src/store/database/database.ts";
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
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { until } from "../../fixtures/until.ts";

/** A round over the pages needs many reads. */
const LIMITS = { maxReadMs: 50, maxPages: 8 };
const MAX_TURNS = 2_000;
/** The fewest reads until the row between the finished ones is found. */
const MIN_PAGED_READS = 20;

/** Keeps everything that is deleted from now on, as a backup does. */
async function takeSnapshot(t: Test, url: string): Promise<void> {
  const raw = await connectRawClient(t, url);
  await raw.query("begin isolation level repeatable read");
  await raw.query("select 1 from clients");
}

/** A database for one scan, with the kinds of its statements so far. */
function watchReads(real: Database) {
  const { statements, database } = watchStatements();
  const kindOf = (text: string) => {
    if (text === "set local jit = off") return "without JIT";
    if (text.includes("pg_relation_size")) return "count";
    return text.includes("ctid >=") ? "paged" : "indexed";
  };
  return { db: database(real), kinds: () => statements.map(kindOf) };
}

type WatchedReads = ReturnType<typeof watchReads>;

/** Locks the table until Postgres has ended the indexed read, as it does when that takes long. */
async function readSlowly<Row>(
  t: Test,
  { url, table, kinds }: { url: string; table: string } & Pick<WatchedReads, "kinds">,
  read: () => Promise<Row>,
): Promise<Row> {
  const raw = await connectRawClient(t, url);
  await raw.query("begin");
  await raw.query(`lock table ${table}`);
  const reading = read();
  await Promise.race([reading, until("the indexed read has ended", () => kinds().includes("count"))]);
  await raw.query("rollback");
  return reading;
}

/** Asserts that all reads of the round took pages, after an indexed one that Postgres ended, and that no plan was compiled. */
function checkReads(t: Test, { kinds }: WatchedReads): void {
  const reads = kinds().filter((kind) => kind === "indexed" || kind === "paged");
  const [first, ...others] = reads;
  t.equal(kinds().filter((kind) => kind === "without JIT").length, reads.length);
  t.equal(first, "indexed");
  t.same([...new Set(others)], ["paged"]);
  t.ok(others.length >= MIN_PAGED_READS, `${others.length} reads of pages`);
}

t.test(
  "while an old snapshot keeps finished deliveries, due and lost ones are found page by page",
  async (t) => {
    const context = await openQueueContext(t);
    const { db, clientId } = context;
    const url = context.config.DATABASE_URL;
    const [polling, finding] = [watchReads(db), watchReads(db)];
    const poll = createDeliveryPoll(polling.db, LIMITS);
    const findLost = createLostDeliveryFinder(finding.db, LIMITS);
    const claimed = { worker_id: "wrk_gone", claimed_at: new Date(0) };
    const [lost] = await insertDueDeliveries(context, 1, claimed);
    await insertDueDeliveries(context, 1);
    await takeSnapshot(t, url);
    const between = await insertClientWithLastByte(db, 2);
    for (const worker of [null, "wrk_1"]) {
      await db.query(
        `insert into delivery_queue (id, client_id, worker_id, claimed_at)
      select 'finished ' || coalesce($2, '') || n, $1, $2, now() from generate_series(1, 10000) n`,
        [clientId, worker],
      );
      if (worker === null) await insertDueDeliveries({ db, clientId: between }, 1);
    }
    await db.query("delete from delivery_queue where id like 'finished %'");
    const other = await insertClientWithLastByte(db, 1);
    await insertDueDeliveries({ db, clientId: other }, 1);
    const scanned = { url, table: "delivery_queue" };
    const first = await readSlowly(t, { ...scanned, ...polling }, () => poll(undefined, 10));
    t.ok(
      first.some((key) => key.clientId === other),
      "the newest row is found at once",
    );
    const lostIds = await readSlowly(t, { ...scanned, ...finding }, () => findLost(LEASE_LIMITS));
    const found = new Set([...first.map((key) => key.clientId), ...lostIds]);
    for (let turns = 0; found.size < 4 && turns < MAX_TURNS; turns++) {
      for (const key of await poll(undefined, 10)) found.add(key.clientId);
      for (const id of await findLost(LEASE_LIMITS)) found.add(id);
    }
    t.same([...found].sort(), [clientId, between, other, lost?.id].sort());
    checkReads(t, polling);
    checkReads(t, finding);
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

const textOf = ({ channelId, batchId, isSuspect }: Omit<SendKey, "clientId">) =>
  `${channelId} ${batchId} ${isSuspect}`;

t.test("the sends of each step of the recovery are found by the indexes and in pages", async (t) => {
  const context = await openSendQueue(t);
  const { db } = context;
  const ids = await insertOverdue(context);
  const expected = RECOVERY_STEPS.map((step) => [step, [ids[step]]]);
  const toIds = (found: Awaited<ReturnType<ReturnType<typeof createOverdueSendFinder>>>) =>
    RECOVERY_STEPS.map((step) => [step, found.get(step)?.map(({ id }) => id) ?? []]);
  t.same(toIds(await createOverdueSendFinder(db)(LEASE_LIMITS)), expected);
  const url = context.config.DATABASE_URL;
  const due = (await createSendPoll(db)(undefined, 10)).map(textOf);
  await takeSnapshot(t, url);
  const between = await makeChannel(context, { id: context.clientId });
  for (const state of ["waiting", "behind"]) {
    await db.query(
      `insert into sends (client_id, id, channel_id, recipient, state, expires_at)
      select $1, $3 || n, $2, n::text, $3, now() + interval '1 day' from generate_series(1, 10000) n`,
      [context.clientId, context.channelId, state],
    );
    if (state === "waiting") await insertQueued(context, { channel_id: between });
  }
  await db.query("delete from sends where id ~ '^(waiting|behind)'");
  due.push(textOf({ channelId: between, batchId: "", isSuspect: false }));
  const [polling, finding] = [watchReads(db), watchReads(db)];
  const poll = createSendPoll(polling.db, LIMITS);
  const find = createOverdueSendFinder(finding.db, LIMITS);
  const found = new Map<string, string[]>();
  const keys = new Set<string>();
  const readKeys = async () => {
    for (const key of await poll(undefined, 10)) keys.add(textOf(key));
  };
  const readOverdue = async () => {
    for (const [step, refs] of await find(LEASE_LIMITS))
      found.set(
        step,
        refs.map(({ id }) => id),
      );
  };
  const scanned = { url, table: "sends" };
  await readSlowly(t, { ...scanned, ...polling }, readKeys);
  await readSlowly(t, { ...scanned, ...finding }, readOverdue);
  const isOver = () => found.size === RECOVERY_STEPS.length && keys.size === due.length;
  for (let turns = 0; !isOver() && turns < MAX_TURNS; turns++) {
    await readKeys();
    await readOverdue();
  }
  t.same(
    RECOVERY_STEPS.map((step) => [step, found.get(step)]),
    expected,
  );
  t.same([...keys].sort(), due.sort());
  checkReads(t, polling);
  checkReads(t, finding);
});
