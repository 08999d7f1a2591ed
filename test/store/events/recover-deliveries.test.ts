import { randomUUID } from "node:crypto";
import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Queryable } from "../../../src/store/database/database.ts";
import type { DeliveryRef } from "../../../src/store/events/events.ts";
import { createLostDeliveryFinder, recoverDeliveries } from "../../../src/store/events/recover-deliveries.ts";
import { lockRecovery } from "../../../src/store/processes/workers.ts";
import { readAttempts, readDelivery, updateDelivery } from "../../fixtures/events/events.ts";
import {
  insertDeadWorker,
  insertDueDeliveries,
  openQueueContext,
  type QueueContext,
  secondsFromNow,
  withoutRetries,
} from "../../fixtures/events/queue-rows.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";

/** A hundred times those of the product, so that no row comes near a limit while a test runs. */
const LEASE_LIMITS = { deadAfter: 1_000 * SECOND, maxLeaseMs: 6_000 * SECOND };

async function recover({ db }: QueueContext) {
  const findLost = createLostDeliveryFinder(db);
  return recoverDeliveries(db, await findLost(LEASE_LIMITS), LEASE_LIMITS);
}

const inFlight = (worker: string, seconds: number) => ({
  worker_id: worker,
  lease: randomUUID(),
  claimed_at: secondsFromNow(-seconds),
});

const insertWorker = ({ db }: QueueContext, id: string, seconds: number) =>
  db.query("insert into workers (id, process, heartbeat_at) values ($1, 'dispatcher', $2)", [
    id,
    secondsFromNow(-seconds),
  ]);

t.test(
  "deliveries of dead dispatchers are due again with the same attempts, and no others are touched",
  async (t) => {
    const context = await openQueueContext(t);
    await insertWorker(context, "wrk_alive", 700);
    await insertWorker(context, "wrk_silent", 1_300);
    const cases: [string, number | undefined, Record<string, unknown>][] = [
      ["worker alive", undefined, inFlight("wrk_alive", 4_000)],
      ["worker without a heartbeat", 1, inFlight("wrk_silent", 1_500)],
      ["worker stopped in order, which lost the answer to its claim", 0, inFlight("wrk_stopped", 1_500)],
      ["worker alive, which lost the answer to its claim", 0, inFlight("wrk_alive", 7_000)],
      ["worker without a heartbeat, claimed recently", undefined, inFlight("wrk_silent", 200)],
      ["not claimed", undefined, {}],
    ];
    const refs: DeliveryRef[] = [];
    for (const [, , columns] of cases)
      refs.push(...(await insertDueDeliveries(context, 1, { state: "retrying", attempts: 2, ...columns })));
    const before = await Promise.all(refs.map(({ id }) => readDelivery(context, id)));
    t.same(await recover(context), { released: 3, quarantined: [] });
    for (const [index, ref] of refs.entries()) {
      const [name, deaths] = cases[index] as (typeof cases)[number];
      const row = await readDelivery(context, ref.id);
      t.same(await readAttempts(context, ref.id), [], "no attempt is recorded");
      if (deaths === undefined) {
        t.same(row, before[index], name);
        continue;
      }
      const unleased = { worker_id: null, lease: null, claimed_at: null };
      const kept = { attempts: 2, schedule_base: 0 };
      t.match(row, { state: "retrying", deaths, last_error: "interrupted", ...kept, ...unleased }, name);
      t.ok((row.next_attempt_at as Date).getTime() <= secondsFromNow(1).getTime());
    }
  },
);

t.test(
  "a delivery is due immediately after each of four deaths and is quarantined at the fifth",
  async (t) => {
    const context = await openQueueContext(t);
    await insertDeadWorker(context, "wrk_gone");
    const lost = { ...inFlight("wrk_gone", 3_000), last_status_code: 503 };
    const [ref] = (await insertDueDeliveries(context, 1)) as [DeliveryRef];
    for (const deaths of [1, 2, 3, 4]) {
      await updateDelivery(context, ref.id, lost);
      t.same(await recover(context), { released: 1, quarantined: [] });
      const row = await readDelivery(context, ref.id);
      t.match(row, {
        state: "pending",
        attempts: 0,
        deaths,
        last_error: "interrupted",
        last_status_code: null,
      });
      t.ok(
        (row.next_attempt_at as Date).getTime() <= secondsFromNow(1).getTime(),
        `due after death ${deaths}`,
      );
    }
    await updateDelivery(context, ref.id, lost);
    const quarantined = [{ ...ref, deaths: 5 }];
    t.same(await recover(context), { released: 0, quarantined });
    const failed = {
      state: "failed",
      attempts: 0,
      is_queued: false,
      last_error: "quarantined",
      failed_at: Date,
      next_attempt_at: null,
    };
    t.match(await readDelivery(context, ref.id), { ...failed, worker_id: null, lease: null });
    t.same(await readAttempts(context, ref.id), []);
    t.same(await recover(context), { released: 0, quarantined: [] }, "reported once");
  },
);

t.test("a locked delivery does not block the recovery of others", async (t) => {
  const context = await openQueueContext(t);
  await insertDeadWorker(context, "wrk_gone");
  const refs = await insertDueDeliveries(context, 2, inFlight("wrk_gone", 3_000));
  const [held, other] = refs as [DeliveryRef, DeliveryRef];
  const raw = await connectRawClient(t, context.config.DATABASE_URL);
  await raw.query("begin");
  await raw.query("select 1 from delivery_queue where id = $1 for update", [held.id]);
  t.match(await recover(context), { released: 1 });
  await raw.query("commit");
  t.match(await readDelivery(context, other.id), { state: "pending", deaths: 1 });
  t.match(await readDelivery(context, held.id), { worker_id: "wrk_gone", deaths: 0 });
});

const lockDeliveries = (tx: Queryable) => lockRecovery(tx, "deliveries");

t.test("one process holds the recovery lock until its transaction ends", async (t) => {
  const { db, config } = await openQueueContext(t);
  const raw = await connectRawClient(t, config.DATABASE_URL);
  await raw.query("begin");
  t.equal(await lockDeliveries(withoutRetries(raw)), true);
  t.equal(await db.transaction(lockDeliveries), false);
  await raw.query("rollback");
  t.equal(await db.transaction(lockDeliveries), true);
  t.equal(await db.transaction(lockDeliveries), true);
});
