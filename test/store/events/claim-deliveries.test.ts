import { randomUUID } from "node:crypto";
import t from "tap";
import { deleteClient } from "../../../src/domain/tenants/delete-client.ts";
import type { Queryable } from "../../../src/store/database/database.ts";
import { claimDeliveries } from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import { finishDeliveries } from "../../../src/store/events/finish-deliveries.ts";
import { retryEvent } from "../../../src/store/events/replays.ts";
import { unmarkQueued } from "../../../src/store/events/sweep-deliveries.ts";
import {
  configureWebhook,
  readAttempts,
  readDelivery,
  updateDelivery,
  WEBHOOK_URL,
} from "../../fixtures/events/events.ts";
import {
  claimWithNewLease,
  finishOf,
  insertDueDeliveries,
  openQueueContext,
  secondsFromNow,
  withoutRetries,
} from "../../fixtures/events/queue-rows.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).sort();

t.test("a claim takes due, unclaimed deliveries and leaves the others unchanged", async (t) => {
  const context = await openQueueContext(t);
  const held = { worker_id: "wrk_other", lease: randomUUID(), claimed_at: new Date() };
  const states: [boolean, Record<string, unknown>][] = [
    [true, { state: "pending" }],
    [true, { state: "retrying", attempts: 3, schedule_base: 1 }],
    [true, { state: "pending", deaths: 1 }],
    [false, { state: "pending", deaths: 2 }],
    [false, { state: "pending", next_attempt_at: secondsFromNow(60) }],
    [false, { state: "retrying", next_attempt_at: secondsFromNow(60) }],
    [false, { state: "in_flight", ...held }],
    ...["delivered", "failed", "skipped", "cancelled"].map((state): [boolean, Record<string, unknown>] => [
      false,
      { state, next_attempt_at: null },
    ]),
  ];
  const refs: DeliveryRef[] = [];
  for (const [, columns] of states) refs.push(...(await insertDueDeliveries(context, 1, columns)));
  const before = await Promise.all(refs.map(({ id }) => readDelivery(context, id)));
  const { rows, lease } = await claimWithNewLease(context, refs);
  const due = refs.filter((_, index) => states[index]?.[0]);
  t.same(idsOf(rows), idsOf(due));
  for (const [index, { id }] of refs.entries()) {
    const changed = { state: "in_flight", worker_id: "wrk_1", lease: lease.token, claimed_at: Date };
    if (states[index]?.[0]) t.match(await readDelivery(context, id), changed);
    else t.same(await readDelivery(context, id), before[index], `${states[index]?.[1].state} stays`);
  }
  t.match(
    rows.find(({ id }) => id === refs[1]?.id),
    {
      attempts: 3,
      schedule_base: 1,
      type: "message.received",
      payload: "{}",
      webhook_url: WEBHOOK_URL,
      is_off: false,
    },
  );
});

t.test("a claimed delivery has the client's current webhook configuration", async (t) => {
  const context = await openQueueContext(t);
  const [first, second] = (await insertDueDeliveries(context, 2)) as [DeliveryRef, DeliveryRef];
  await configureWebhook(context, { id: context.clientId }, { disabledKeys: ["chatapp"] });
  t.match((await claimWithNewLease(context, [first])).rows, [{ is_off: true }]);
  await configureWebhook(context, { id: context.clientId }, { url: null });
  t.match((await claimWithNewLease(context, [second])).rows, [{ is_off: false, webhook_url: null }]);
});

t.test("a repeated claim returns the same rows for the same token and none for another", async (t) => {
  const context = await openQueueContext(t);
  const refs = await insertDueDeliveries(context, 3);
  const { lease, rows } = await claimWithNewLease(context, refs);
  t.same(idsOf(await claimDeliveries(context.db, refs, lease)), idsOf(rows));
  t.same((await claimWithNewLease(context, refs, "wrk_2")).rows, []);
});

t.test("concurrent claims of the same deliveries take each delivery once", async (t) => {
  const context = await openQueueContext(t);
  const refs = await insertDueDeliveries(context, 50);
  const raw = await connectRawClient(t, context.config.DATABASE_URL);
  await raw.query("begin");
  await raw.query("select 1 from deliveries where id = $1 for update", [refs[25]?.id]);
  const claims = Array.from({ length: 4 }, () => claimWithNewLease(context, refs));
  await untilBlocked(raw, 4);
  await raw.query("commit");
  const rows = (await Promise.all(claims)).flatMap(({ rows }) => rows);
  t.same(idsOf(rows), idsOf(refs), "each delivery once");
});

const STATEMENTS: Record<string, (db: Queryable, refs: readonly DeliveryRef[]) => Promise<unknown>> = {
  claim: (db, refs) => claimDeliveries(db, refs, { token: randomUUID(), worker: "wrk_1" }),
  unqueue: (db, refs) => unmarkQueued(db, refs),
  finish: (db, refs) =>
    finishDeliveries(
      db,
      refs.map((ref) => finishOf(ref, { token: UNKNOWN_LEASE, worker: "" })),
    ),
};
const UNKNOWN_LEASE = "00000000-0000-4000-8000-000000000000";

for (const [one, other] of [
  ["claim", "claim"],
  ["claim", "unqueue"],
  ["finish", "unqueue"],
  ["finish", "finish"],
] as const)
  t.test(`${one} and ${other} of the same deliveries in opposite order do not deadlock`, async (t) => {
    const context = await openQueueContext(t);
    const refs = await insertDueDeliveries(context, 9, { lease: UNKNOWN_LEASE });
    const connection = () => connectRawClient(t, context.config.DATABASE_URL);
    const [raw, first, second] = [await connection(), await connection(), await connection()];
    await raw.query("begin");
    await raw.query("select 1 from deliveries where id = $1 for update", [refs[4]?.id]);
    const both = [
      STATEMENTS[one]?.(withoutRetries(first), refs),
      STATEMENTS[other]?.(withoutRetries(second), [...refs].reverse()),
    ];
    await untilBlocked(raw, 2);
    await raw.query("commit");
    await t.resolves(Promise.all(both));
  });

t.test("a finish without a valid lease writes nothing, and with one it writes everything", async (t) => {
  const context = await openQueueContext(t);
  const [ref] = (await insertDueDeliveries(context, 1)) as [DeliveryRef];
  const first = await claimWithNewLease(context, [ref]);
  await updateDelivery(context, ref.id, {
    state: "retrying",
    worker_id: null,
    lease: null,
    claimed_at: null,
  });
  const second = await claimWithNewLease(context, [ref], "wrk_2");
  const before = await readDelivery(context, ref.id);
  t.same(await finishDeliveries(context.db, [finishOf(ref, first.lease, { state: "delivered" })]), []);
  t.same(await readDelivery(context, ref.id), before);
  t.same(await readAttempts(context, ref.id), []);
  t.same(await finishDeliveries(context.db, [finishOf(ref, second.lease)]), [ref.id]);
  t.match(await readAttempts(context, ref.id), [
    { attempt: 1, error: "HTTP 500", response_excerpt: "oh no" },
  ]);
  t.same(await finishDeliveries(context.db, [finishOf(ref, second.lease)]), [], "no second write");
  t.match(await readDelivery(context, ref.id), { state: "retrying", attempts: 1 });
});

t.test(
  "an outcome counts without its lease if the delivery has no other claim or attempt since",
  async (t) => {
    const context = await openQueueContext(t);
    const refs = (await insertDueDeliveries(context, 3)) as [DeliveryRef, DeliveryRef, DeliveryRef];
    const [expired, attempted, cancelled] = refs;
    const { lease } = await claimWithNewLease(context, refs);
    const released = { worker_id: null, lease: null, claimed_at: null };
    await updateDelivery(context, expired.id, { ...released, state: "pending" });
    await updateDelivery(context, attempted.id, { ...released, state: "retrying", attempts: 1 });
    await updateDelivery(context, cancelled.id, { ...released, state: "cancelled" });
    const finishes = refs.map((ref) => finishOf(ref, lease, { state: "delivered", delay_ms: null }));
    t.same(await finishDeliveries(context.db, finishes), [expired.id]);
    t.match(await readDelivery(context, expired.id), { state: "delivered", attempts: 1 });
    t.match(await readDelivery(context, attempted.id), { state: "retrying", attempts: 1 });
    t.match(await readDelivery(context, cancelled.id), { state: "cancelled", attempts: 0 });
  },
);

/** Input of a finish, the row afterwards, and the number of attempts. */
const FINISHES: Record<string, [Parameters<typeof finishOf>[2], Record<string, unknown>, number]> = {
  delivered: [
    { state: "delivered", delay_ms: null, restart_delay_ms: null },
    { state: "delivered", attempts: 3, next_attempt_at: null, delivered_at: Date, last_status_code: 500 },
    1,
  ],
  "failed for good": [
    { state: "failed", delay_ms: null },
    { state: "failed", attempts: 3, next_attempt_at: null, delivered_at: null, last_error: "HTTP 500" },
    1,
  ],
  "retried later": [{}, { state: "retrying", attempts: 3, url: "https://backend.example/hooks/chat" }, 1],
  skipped: [
    { state: "skipped", skip_reason: "disabled", delay_ms: null, restart_delay_ms: null, attempt: null },
    { state: "skipped", skip_reason: "disabled", attempts: 2, next_attempt_at: null, last_error: "before" },
    0,
  ],
  "postponed without an attempt": [
    { state: "retrying", restart_delay_ms: null, attempt: null },
    {
      state: "retrying",
      attempts: 2,
      last_status_code: 404,
      last_error: "before",
      url: "https://before.example",
    },
    0,
  ],
};

t.test(
  "a finish stores the attempt with its outcome and releases the delivery from lease and queue",
  async (t) => {
    const context = await openQueueContext(t);
    const columns = {
      ...{ attempts: 2, last_status_code: 404, last_error: "before", url: "https://before.example" },
      ...{ enqueued_at: new Date(), queue_epoch: "e" },
    };
    const names = Object.keys(FINISHES);
    const refs = await insertDueDeliveries(context, names.length, columns);
    const { lease } = await claimWithNewLease(context, refs);
    const finishes = refs.map((ref, index) => finishOf(ref, lease, FINISHES[names[index] as string]?.[0]));
    const written = await finishDeliveries(context.db, finishes);
    t.same(idsOf(written.map((id) => ({ id }))), idsOf(refs));
    for (const [index, ref] of refs.entries()) {
      const name = names[index] as string;
      const [finish, expected, attempts] = FINISHES[name] as (typeof FINISHES)[string];
      const row = await readDelivery(context, ref.id);
      t.match(row, { ...expected, enqueued_at: null, worker_id: null, lease: null, claimed_at: null }, name);
      if (finish?.delay_ms !== null)
        t.ok(Math.abs((row.next_attempt_at as Date).getTime() - secondsFromNow(60).getTime()) < 30_000);
      t.equal((await readAttempts(context, ref.id)).length, attempts);
    }
  },
);

t.test("a schedule restarted during the attempt sets the next delay", async (t) => {
  const context = await openQueueContext(t);
  const refs = await insertDueDeliveries(context, 3, { state: "retrying", attempts: 12 });
  const [over, gone, arrived] = refs as [DeliveryRef, DeliveryRef, DeliveryRef];
  const { lease } = await claimWithNewLease(context, refs);
  for (const { clientId, id } of refs) await retryEvent(context.db, clientId, id);
  await finishDeliveries(context.db, [
    finishOf(over, lease, { state: "failed", delay_ms: null, restart_delay_ms: 5_000 }),
    finishOf(gone, lease, { state: "failed", delay_ms: null, restart_delay_ms: null }),
    finishOf(arrived, lease, { state: "delivered", delay_ms: null, restart_delay_ms: null }),
  ]);
  const row = await readDelivery(context, over.id);
  t.match(row, { state: "retrying", attempts: 13, schedule_base: 12 });
  t.ok((row.next_attempt_at as Date).getTime() < secondsFromNow(6).getTime(), "not by the old schedule");
  t.match(await readDelivery(context, gone.id), {
    state: "failed",
    failed_at: Date,
    next_attempt_at: null,
  });
  t.match(await readDelivery(context, arrived.id), {
    state: "delivered",
    failed_at: null,
    next_attempt_at: null,
  });
});

t.test("a client deleted while its delivery is in flight leaves no rows", async (t) => {
  const context = await openQueueContext(t);
  const refs = (await insertDueDeliveries(context, 2)) as [DeliveryRef, DeliveryRef];
  const { lease } = await claimWithNewLease(context, refs);
  const raw = await connectRawClient(t, context.config.DATABASE_URL);
  await raw.query("begin");
  await finishDeliveries(withoutRetries(raw), [finishOf(refs[0], lease)]);
  const deletion = deleteClient(context.db, context.clientId);
  await untilBlocked(raw, 1);
  await raw.query("commit");
  await deletion;
  t.same(await finishDeliveries(context.db, [finishOf(refs[1], lease)]), [], "the second finish is too late");
  t.same((await claimWithNewLease(context, refs)).rows, []);
  for (const table of ["events", "deliveries", "attempts"])
    t.same(await context.db.query(`select id from ${table}`), [], table);
});
