import { randomUUID } from "node:crypto";
import t from "tap";
import { deleteClient } from "../../../src/domain/tenants/delete-client.ts";
import type { Queryable } from "../../../src/store/database/database.ts";
import {
  claimDeliveries,
  createDeliveryPoll,
  releaseClaim,
} from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryRef } from "../../../src/store/events/events.ts";
import { finishDeliveries } from "../../../src/store/events/finish-deliveries.ts";
import { retryEvent } from "../../../src/store/events/replays.ts";
import { insertBacklog } from "../../fixtures/events/backlog.ts";
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
  insertClientWithLastByte,
  insertDueDeliveries,
  openQueueContext,
  type QueueContext,
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
    [false, { state: "pending", ...held }],
    [false, { state: "pending", is_bulk: true }],
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
    const changed = {
      state: states[index]?.[1].state,
      worker_id: "wrk_1",
      lease: lease.token,
      claimed_at: Date,
    };
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

t.test(
  "rows of a claim whose answer was lost wait again when it is released, and others do not",
  async (t) => {
    const context = await openQueueContext(t);
    const refs = await insertDueDeliveries(context, 3);
    const { lease, rows } = await claimWithNewLease(context, refs.slice(0, 2));
    await claimWithNewLease(context, refs, "wrk_2");
    await releaseClaim(context.db, lease);
    t.same(idsOf((await claimWithNewLease(context, refs, "wrk_3")).rows), idsOf(rows));
  },
);

t.test(
  "concurrent claims take each row once, never more than asked for, the oldest of a key first",
  async (t) => {
    const context = await openQueueContext(t);
    const clients = [context.clientId, await insertClientWithLastByte(context.db, 1)];
    const refs: DeliveryRef[] = [];
    for (const clientId of clients) refs.push(...(await insertDueDeliveries({ ...context, clientId }, 40)));
    for (const [index, { id }] of refs.entries())
      await updateDelivery(context, id, { next_attempt_at: secondsFromNow(index - 1_000) });
    const remaining = new Map(clients.map((id) => [id, refs.filter(({ clientId }) => clientId === id)]));
    for (let round = 0; round < 5; round++) {
      const requests = clients.map((clientId, index) => ({
        clientId,
        ...{ isBulk: false, max: 1 + ((round + index) % 3), after: new Date(0) },
      }));
      const claims = await Promise.all(
        ["wrk_1", "wrk_2", "wrk_3"].map((worker) =>
          claimDeliveries(context.db, requests, { token: randomUUID(), worker }),
        ),
      );
      for (const rows of claims)
        for (const { clientId, max } of requests)
          t.ok(rows.filter(({ client_id }) => client_id === clientId).length <= max);
      for (const clientId of clients) {
        const claimed = claims.flat().filter(({ client_id }) => client_id === clientId);
        const expected = remaining.get(clientId)?.splice(0, claimed.length) ?? [];
        t.same(idsOf(claimed), idsOf(expected), "each once, the oldest first");
      }
    }
  },
);

t.test("a claim leaves out rows that were due before `after`", async (t) => {
  const context = await openQueueContext(t);
  const [old, fresh] = (await insertDueDeliveries(context, 2)) as [DeliveryRef, DeliveryRef];
  await updateDelivery(context, old.id, { next_attempt_at: secondsFromNow(-3_600) });
  const claim = (after: Date | null) =>
    claimDeliveries(context.db, [{ clientId: context.clientId, isBulk: false, max: 10, after }], {
      token: randomUUID(),
      worker: "wrk_1",
    });
  t.same(idsOf(await claim(null)), [fresh.id], "without it, those of the last 30 seconds");
  t.same(idsOf(await claim(secondsFromNow(-3_000))), []);
  t.same(idsOf(await claim(secondsFromNow(-3_601))), [old.id]);
});

t.test("the poll returns each key with rows that are due, and since when", async (t) => {
  const context = await openQueueContext(t);
  const others = [
    await insertClientWithLastByte(context.db, 1),
    await insertClientWithLastByte(context.db, 2),
  ];
  const refs = await insertDueDeliveries(context, 3);
  const [first] = refs as [DeliveryRef];
  await updateDelivery(context, first.id, { next_attempt_at: secondsFromNow(-60) });
  await insertDueDeliveries({ ...context, clientId: others[0] as string }, 2, { is_bulk: true });
  await insertDueDeliveries({ ...context, clientId: others[1] as string }, 1, {
    next_attempt_at: secondsFromNow(60),
  });
  const pollDeliveries = createDeliveryPoll(context.db);
  const poll = (limit: number) => pollDeliveries(undefined, limit);
  t.match(await poll(10), [
    { isBulk: false, clientId: context.clientId, after: (await readDelivery(context, first.id)).due_at },
    { isBulk: true, clientId: others[0] },
  ]);
  t.equal((await poll(1)).length, 1);
  await claimWithNewLease(context, refs);
  t.match(await poll(10), [{ isBulk: true }], "claimed rows do not wait");
});

const UNKNOWN_LEASE = "00000000-0000-4000-8000-000000000000";

t.test("two finishes of the same deliveries in opposite order do not deadlock", async (t) => {
  const context = await openQueueContext(t);
  const refs = await insertDueDeliveries(context, 9, { lease: UNKNOWN_LEASE });
  const connection = () => connectRawClient(t, context.config.DATABASE_URL);
  const [raw, first, second] = [await connection(), await connection(), await connection()];
  await raw.query("begin");
  await raw.query("select 1 from delivery_queue where id = $1 for update", [refs[4]?.id]);
  const finish = (db: Queryable, ordered: readonly DeliveryRef[]) =>
    finishDeliveries(
      db,
      ordered.map((ref) => finishOf(ref, { token: UNKNOWN_LEASE, worker: "" })),
    );
  const both = [finish(withoutRetries(first), refs), finish(withoutRetries(second), [...refs].reverse())];
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
      state: "pending",
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
      t.match(row, { ...expected, worker_id: null, lease: null, claimed_at: null }, name);
      if (finish?.delay_ms !== null)
        t.ok(Math.abs((row.due_at as Date).getTime() - secondsFromNow(60).getTime()) < 30_000);
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

/** Claims one delivery of the client; returns how many blocks the statement read. */
async function countBlocksOfClaim({ db, clientId }: QueueContext, after: Date): Promise<number> {
  let blocks = Number.NaN;
  const explaining: Queryable = {
    async query<Row>(statement: Parameters<Queryable["query"]>[0], values?: readonly unknown[]) {
      const text = typeof statement === "string" ? statement : statement.text;
      const [row] = await db.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, timing off, format json) ${text}`,
        values,
      );
      blocks = row?.["QUERY PLAN"][0].Plan["Shared Hit Blocks"] as number;
      return [] as Row[];
    },
  };
  const request = { clientId, isBulk: false, max: 1, after };
  await claimDeliveries(explaining, [request], { token: randomUUID(), worker: "wrk_1" });
  return blocks;
}

t.test("a claim reads few entries of finished rows while an old transaction keeps them", async (t) => {
  const context = await openQueueContext(t);
  const old = await connectRawClient(t, context.config.DATABASE_URL);
  await old.query("begin isolation level repeatable read");
  await old.query("select from delivery_queue limit 1");
  let dueAt = secondsFromNow(-600);
  for (let batch = 0; batch < 10; batch += 1) {
    dueAt = new Date(dueAt.getTime() + 30_000);
    const ids = await insertBacklog(context.db, context.clientId, 300, dueAt);
    const refs = ids.map((id) => ({ clientId: context.clientId, id }));
    const { lease } = await claimWithNewLease(context, refs);
    const delivered = { state: "delivered", delay_ms: null, restart_delay_ms: null } as const;
    await finishDeliveries(
      context.db,
      refs.map((ref) => finishOf(ref, lease, delivered)),
    );
  }
  await insertDueDeliveries(context, 2);
  const [all, few] = [
    await countBlocksOfClaim(context, new Date(0)),
    await countBlocksOfClaim(context, new Date(dueAt.getTime() - 5_000)),
  ];
  // The difference is what the finished rows cost; the rest of the claim may cost more or less.
  t.ok(all - few > 30, `${few} of ${all} blocks`);
});
