import { randomUUID } from "node:crypto";
import t from "tap";
import { claimSuspect } from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryRef } from "../../../src/store/events/events.ts";
import { MAX_DEATHS, SUSPECT_DEATHS } from "../../../src/store/processes/workers.ts";
import { readDelivery, updateDelivery } from "../../fixtures/events/events.ts";
import { insertDueDeliveries, openQueueContext, secondsFromNow } from "../../fixtures/events/queue-rows.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";

const newLease = (worker = "wrk_1") => ({ token: randomUUID(), worker });

t.test("the suspect that has been due longest is claimed, and no other delivery", async (t) => {
  const context = await openQueueContext(t);
  const columns = (deaths: number, seconds: number) => ({ deaths, next_attempt_at: secondsFromNow(seconds) });
  const others = [
    columns(1, -90),
    columns(3, 60),
    { ...columns(5, -90), state: "failed" },
    { ...columns(3, -90), state: "delivered" },
  ];
  for (const other of others) await insertDueDeliveries(context, 1, other);
  const [later] = (await insertDueDeliveries(context, 1, columns(4, -1_000))) as [DeliveryRef];
  const [oldest] = (await insertDueDeliveries(context, 1, {
    ...columns(2, -2_000),
    state: "retrying",
    attempts: 3,
  })) as [DeliveryRef];
  const [newest] = (await insertDueDeliveries(context, 1, columns(2, -500))) as [DeliveryRef];
  const [first, second] = [newLease(), newLease("wrk_2")];
  t.match(await claimSuspect(context.db, first, []), { id: oldest.id, attempts: 3, payload: "{}" });
  const claimed = { state: "retrying", worker_id: "wrk_1", lease: first.token, claimed_at: Date, deaths: 2 };
  t.match(await readDelivery(context, oldest.id), claimed);
  t.match(await claimSuspect(context.db, second, []), { id: later.id });
  t.match(await claimSuspect(context.db, newLease(), []), { id: newest.id });
  t.equal(await claimSuspect(context.db, newLease(), []), undefined);
});

t.test("a suspect that another dispatcher is claiming is skipped", async (t) => {
  const context = await openQueueContext(t);
  const [held, free] = (await insertDueDeliveries(context, 2, { deaths: 2 })) as [DeliveryRef, DeliveryRef];
  await updateDelivery(context, held.id, { next_attempt_at: secondsFromNow(-60) });
  const raw = await connectRawClient(t, context.config.DATABASE_URL);
  await raw.query("begin");
  await raw.query("select 1 from delivery_queue where id = $1 for update", [held.id]);
  t.match(await claimSuspect(context.db, newLease(), []), { id: free.id });
  await raw.query("commit");
});

t.test("the partial indexes of suspects begin at the number of deaths that makes a suspect", async (t) => {
  const { db } = await openQueueContext(t);
  const indexes = await db.query<{ definition: string }>(
    "select indexdef as definition from pg_indexes where indexname in ('delivery_queue_suspect', 'sends_suspect')",
  );
  t.equal(indexes.length, 2);
  for (const { definition } of indexes) t.ok(definition.includes(`deaths >= ${SUSPECT_DEATHS})`), definition);
  t.ok(SUSPECT_DEATHS < MAX_DEATHS);
});
