import { randomUUID } from "node:crypto";
import t from "tap";
import { DAY, MINUTE } from "../../../src/runtime/durations.ts";
import type { Database } from "../../../src/store/database/database.ts";
import {
  createMissingPartitions,
  EVENT_TABLES,
  MESSAGE_TABLES,
} from "../../../src/store/database/partitions.ts";
import {
  claimDeliveries,
  createDeliveryPoll,
  releaseClaim,
} from "../../../src/store/events/claim-deliveries.ts";
import { finishDeliveries } from "../../../src/store/events/finish-deliveries.ts";
import { createLostDeliveryFinder, recoverDeliveries } from "../../../src/store/events/recover-deliveries.ts";
import {
  claimSends,
  createSendPoll,
  markSending,
  releaseSendClaim,
} from "../../../src/store/messages/claim-sends.ts";
import { finishSends } from "../../../src/store/messages/finish-sends.ts";
import { updateMessageStatuses } from "../../../src/store/messages/message-statuses.ts";
import { createOverdueSendFinder } from "../../../src/store/messages/overdue-sends.ts";
import { markSendsUnknown, requeueUnstartedSends } from "../../../src/store/messages/recover-sends.ts";
import { startDueSends } from "../../../src/store/messages/scheduled-sends.ts";
import { releaseMissedSends, releaseNextSends } from "../../../src/store/messages/send-order.ts";
import { LEASE_LIMITS } from "../../../src/store/processes/workers.ts";
import {
  finishOf,
  insertDueDeliveries,
  openQueueContext,
  requestsOf,
} from "../../fixtures/events/queue-rows.ts";
import {
  acceptMessage,
  finishOf as finishOfSend,
  insertManySends,
  openSendQueue,
  requestOf,
} from "../../fixtures/messages/send-queue.ts";
import { openWithKeptPlans } from "../../fixtures/servers/kept-plans.ts";
import { disableAutovacuum } from "../../fixtures/servers/query-plans.ts";

/**
 * Each test runs the statements of a queue while it has a few rows, lets it grow, and counts the rows that the kept plans read.
 * Statistics are those of the moment before.
 */

const STATISTICS = {
  "never analysed": [],
  "analysed while it was empty": ["analyze"],
  "vacuumed while it was empty": ["vacuum analyze"],
} as const;

const ROWS = 3_000;
/** Of a run with twenty rows. A plan that reads a whole table reads all its rows at least once, most read them for each row. */
const MAX_READ_ROWS = 2_000;

async function prepare(db: Database, queue: string, commands: readonly string[]): Promise<void> {
  const group = queue === "sends" ? MESSAGE_TABLES : EVENT_TABLES;
  await createMissingPartitions(db, group, { now: Date.now(), spanMs: DAY });
  await disableAutovacuum(db, [queue]);
  for (const command of commands) await db.query(`${command} ${queue}`);
}

async function runDeliveries(
  db: Database,
  deliveries: Awaited<ReturnType<typeof insertDueDeliveries>>,
): Promise<void> {
  const lease = { token: randomUUID(), worker: "wrk_1" };
  await createDeliveryPoll(db, { maxReadMs: MINUTE })(undefined, 100);
  const rows = await claimDeliveries(db, requestsOf(deliveries), lease);
  const ids = await createLostDeliveryFinder(db, { maxReadMs: MINUTE })(LEASE_LIMITS);
  await recoverDeliveries(db, ids, LEASE_LIMITS);
  await finishDeliveries(
    db,
    rows.map(({ client_id: clientId, id }) => finishOf({ clientId, id }, lease)),
  );
  await releaseClaim(db, lease);
}

for (const [name, commands] of Object.entries(STATISTICS))
  t.test(`deliveries read few rows with plans of a queue that was ${name}`, async (t) => {
    const { context, kept } = await openWithKeptPlans(t, openQueueContext);
    await prepare(context.db, "delivery_queue", commands);
    const few = await insertDueDeliveries(context, 20);
    await runDeliveries(kept.db, few);
    for (let count = 0; count < ROWS; count += 500) await insertDueDeliveries(context, 500);
    const rows = await kept.countRowsRead(() => runDeliveries(kept.db, few));
    t.ok(rows < MAX_READ_ROWS, `${rows} rows were read`);
  });

type SendQueue = Awaited<ReturnType<typeof openSendQueue>>;

async function runSends(context: SendQueue, db: Database): Promise<void> {
  const { clientId: client_id } = context;
  const lease = { token: randomUUID(), worker: "wrk_1" };
  await createSendPoll(db, { maxReadMs: MINUTE })(undefined, 100);
  const rows = await claimSends(db, [requestOf(context, { max: 20 })], lease);
  const keys = rows.map(({ id }) => ({ client_id, id }));
  await createOverdueSendFinder(db, { maxReadMs: MINUTE })(LEASE_LIMITS);
  await requeueUnstartedSends(db, keys, LEASE_LIMITS);
  await markSendsUnknown(db, keys, { ...LEASE_LIMITS, waitMs: 1, error: "{}" });
  await markSending(
    db,
    keys.map((key) => ({ ...key, lease: lease.token, parts_sent: 0, platform_message_id: null })),
  );
  const finishes = rows.map(({ id }) => finishOfSend(context, id, lease.token));
  await releaseNextSends(db, await finishSends(db, finishes));
  await releaseMissedSends(db, undefined);
  await startDueSends(db);
  await releaseSendClaim(db, lease);
  const delivered = new Date().toISOString();
  await updateMessageStatuses(
    db,
    keys.map((key) => ({ ...key, platform_message_id: null, delivered })),
  );
}

const acceptMany = async (context: SendQueue, count: number) => {
  for (let index = 0; index < count; index++) await acceptMessage(context, context.db, { to: `${index}` });
};

/** Statistics by which one person has all sends: the check of earlier ones must not read them all for each person. */
const BEHIND = "analysed while all rows were behind one another";

for (const [name, commands] of Object.entries({ ...STATISTICS, [BEHIND]: ["analyze"] }))
  t.test(`sends read few rows with plans of a queue that was ${name}`, async (t) => {
    const { context, kept } = await openWithKeptPlans(t, openSendQueue);
    if (name === BEHIND) await insertManySends(context, { count: ROWS, state: "behind" });
    if (name === BEHIND) await context.db.query("update sends set recipient = 'one'");
    await prepare(context.db, "sends", commands);
    await acceptMany(context, 20);
    await runSends(context, kept.db);
    if (name === BEHIND) await context.db.query("update sends set recipient = place::text");
    else await insertManySends(context, { count: ROWS, messages: ROWS });
    await acceptMany(context, 20);
    const rows = await kept.countRowsRead(() => runSends(context, kept.db));
    t.ok(rows < MAX_READ_ROWS, `${rows} rows were read`);
  });
