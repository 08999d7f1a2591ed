import { randomUUID } from "node:crypto";
import t from "tap";
import { SCHEDULE } from "../../../src/delivery/retry-schedule.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import {
  enqueueDue,
  lockSweep,
  recoverDeliveries,
  unqueue,
} from "../../../src/store/events/sweep-deliveries.ts";
import { attemptsOf, deliveryIs, deliveryOf } from "../../fixtures/events/events.ts";
import {
  clientEndingIn,
  dueRows,
  impatient,
  inSeconds,
  openQueue,
  type QueueGround,
} from "../../fixtures/events/queue-rows.ts";
import { rawClient } from "../../fixtures/servers/servers.ts";

const SILENCE = { deadAfter: 10_000, longest: 60_000, schedule: SCHEDULE };
const WISH = {
  isBulk: false,
  epoch: "now",
  strandedAfter: 20_000,
  limit: 500,
  partitions: 1,
  full: [],
  crowded: [],
};

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

const inHand = (worker: string, seconds: number) => ({
  state: "in_flight",
  worker_id: worker,
  lease: randomUUID(),
  claimed_at: inSeconds(-seconds),
  enqueued_at: inSeconds(-seconds),
  queue_epoch: "now",
});

const beaten = ({ db }: QueueGround, id: string, seconds: number) =>
  db.query("insert into workers (id, process, heartbeat_at) values ($1, 'dispatcher', $2)", [
    id,
    inSeconds(-seconds),
  ]);

t.test("what the dead had in hand is due again, and nothing else is taken from anybody", async (t) => {
  const ground = await openQueue(t);
  await beaten(ground, "wrk_alive", 7);
  await beaten(ground, "wrk_silent", 13);
  const cases: [string, boolean, Record<string, unknown>][] = [
    ["of one that lives", false, inHand("wrk_alive", 40)],
    ["of one that is silent", true, inHand("wrk_silent", 15)],
    ["of one that nobody knows", true, inHand("wrk_unknown", 15)],
    ["of one that lives, for too long", true, inHand("wrk_alive", 70)],
    ["of one whose heart will beat again", false, inHand("wrk_silent", 2)],
    ["in nobody's hand", false, { state: "retrying" }],
  ];
  const refs: DeliveryRef[] = [];
  for (const [, , columns] of cases) refs.push(...(await dueRows(ground, 1, { attempts: 2, ...columns })));
  const before = await Promise.all(refs.map(({ id }) => deliveryOf(ground, id)));
  t.equal(await recoverDeliveries(ground.db, SILENCE), 3);
  for (const [index, ref] of refs.entries()) {
    const [name, isLost] = cases[index] as (typeof cases)[number];
    const row = await deliveryOf(ground, ref.id);
    if (!isLost) {
      t.same(row, before[index], name);
      t.same(await attemptsOf(ground, ref.id), []);
      continue;
    }
    const nobodys = { enqueued_at: null, worker_id: null, lease: null, claimed_at: null };
    t.match(row, { state: "retrying", attempts: 3, last_error: "interrupted", ...nobodys }, name);
    t.ok((row.next_attempt_at as Date).getTime() <= inSeconds(1).getTime());
    t.match(await attemptsOf(ground, ref.id), [
      { attempt: 3, error: "interrupted", status_code: null, at: before[index]?.claimed_at },
    ]);
  }
});

t.test("what is lost again goes by the schedule, and is given up when that is over", async (t) => {
  const ground = await openQueue(t);
  const cases: [string, number, number, number | undefined][] = [
    ["for the first time", 0, 0, 0],
    ["for the second time", 1, 0, 30],
    ["for the third time, and twice before the schedule began anew", 4, 2, 120],
    ["for the thirteenth time", 12, 0, undefined],
  ];
  for (const [name, attempts, schedule_base, seconds] of cases) {
    const columns = { ...inHand("wrk_gone", 30), attempts, schedule_base };
    const [ref] = (await dueRows(ground, 1, columns)) as [DeliveryRef];
    await ground.db.query(
      `insert into attempts (client_id, id, attempt, at, duration_ms, error)
      select $1, $2, number, now(), 0, 'interrupted' from generate_series(1, $3::integer) number`,
      [ref.clientId, ref.id, attempts],
    );
    await recoverDeliveries(ground.db, SILENCE);
    const row = await deliveryOf(ground, ref.id);
    const state = seconds === undefined ? "failed" : "retrying";
    t.match(row, { state, attempts: attempts + 1, last_error: "interrupted" }, name);
    if (seconds === undefined) t.equal(row.next_attempt_at, null);
    else {
      const [earliest, latest] = [inSeconds(seconds - 10).getTime(), inSeconds(seconds).getTime()];
      const next = (row.next_attempt_at as Date).getTime();
      t.ok(next > earliest && next <= latest, `${name}: ${(next - latest) / 1_000} s off`);
    }
  }
});

t.test("of whom enough waits already is left out", async (t) => {
  const ground = await openQueue(t);
  const [greedy] = (await dueRows(ground, 1)) as [DeliveryRef];
  const modest = { ...ground, clientId: await clientEndingIn(ground.db, 0x01) };
  const [other] = (await dueRows(modest, 1)) as [DeliveryRef];
  t.same(await enqueueDue(ground.db, { ...WISH, crowded: [greedy.clientId] }), [other]);
  t.same(await enqueueDue(ground.db, WISH), [greedy]);
});

t.test("one that somebody holds, or whose attempt is on record already, holds up nothing", async (t) => {
  const ground = await openQueue(t);
  const refs = await dueRows(ground, 3, inHand("wrk_gone", 30));
  const [held, recorded, plain] = refs as [DeliveryRef, DeliveryRef, DeliveryRef];
  await ground.db.query(
    "insert into attempts (client_id, id, attempt, at, duration_ms) values ($1, $2, 1, now(), 5)",
    [recorded.clientId, recorded.id],
  );
  const raw = await rawClient(t, ground.config.DATABASE_URL);
  await raw.query("begin");
  await raw.query("select 1 from deliveries where id = $1 for update", [held.id]);
  t.equal(await recoverDeliveries(ground.db, SILENCE), 2);
  await raw.query("commit");
  for (const { id } of [recorded, plain]) t.match(await deliveryOf(ground, id), { state: "retrying" });
  t.match(await deliveryOf(ground, held.id), { state: "in_flight" });
});

t.test("one sweeps at a time, until its transaction ends", async (t) => {
  const { db, config } = await openQueue(t);
  const raw = await rawClient(t, config.DATABASE_URL);
  await raw.query("begin");
  t.equal(await lockSweep(impatient(raw)), true);
  t.equal(await db.transaction(lockSweep), false);
  await raw.query("rollback");
  t.equal(await db.transaction(lockSweep), true);
  t.equal(await db.transaction(lockSweep), true);
});

const queued = (epoch: string, seconds: number) => ({
  enqueued_at: inSeconds(-seconds),
  queue_epoch: epoch,
});

t.test("what is due is given to the queue where it is not, for whatever reason", async (t) => {
  const ground = await openQueue(t);
  const cases: [string, boolean, Record<string, unknown>][] = [
    ["never told", true, {}],
    ["to be told again", true, { state: "retrying" }],
    ["told to an earlier life of Redis", true, queued("an earlier one", 1)],
    ["told to one whose name comes later", true, queued("z", 1)],
    ["told long ago", true, queued("now", 25)],
    ["told just now", false, queued("now", 10)],
    ["not due yet", false, { next_attempt_at: inSeconds(60) }],
    ["in bulk", false, { is_bulk: true }],
    ["in somebody's hand", false, inHand("wrk_1", 30)],
    ["done", false, { state: "delivered", next_attempt_at: null }],
  ];
  const refs: DeliveryRef[] = [];
  for (const [, , columns] of cases) refs.push(...(await dueRows(ground, 1, columns)));
  const found = idsOf(await enqueueDue(ground.db, WISH));
  for (const [index, { id }] of refs.entries()) {
    const [name, isTaken] = cases[index] as (typeof cases)[number];
    t.equal(found.includes(id), isTaken, name);
    const row = await deliveryOf(ground, id);
    if (!isTaken) continue;
    t.equal(row.queue_epoch, "now");
    t.ok((row.enqueued_at as Date).getTime() > inSeconds(-5).getTime());
  }
  t.same(await enqueueDue(ground.db, WISH), [], "once");
  const bulk = await enqueueDue(ground.db, { ...WISH, isBulk: true });
  t.same(idsOf(bulk), [refs[7]?.id], "the other lane is apart");
  t.same(bulk[0], refs[7], "each is named by its client and its event");
});

t.test(
  "the oldest go first, as many as there is room for, and nobody waits for those that are due for other reasons",
  async (t) => {
    const ground = await openQueue(t);
    const byAge = (await dueRows(ground, 6)).reverse();
    for (const [index, { id }] of byAge.entries())
      await deliveryIs(ground, id, { next_attempt_at: inSeconds(index - 100) });
    const [stranded] = (await dueRows(ground, 1, {
      ...queued("now", 30),
      next_attempt_at: inSeconds(-500),
    })) as [DeliveryRef];
    const next = async (limit: number) => idsOf(await enqueueDue(ground.db, { ...WISH, limit })).sort();
    t.same(await next(2), [byAge[0]?.id, stranded.id].sort());
    t.same(await next(3), idsOf(byAge.slice(1, 4)).sort());
    t.same(await next(3), idsOf(byAge.slice(4, 6)).sort());
    for (const [index, { id }] of byAge.entries()) await deliveryIs(ground, id, queued("now", 60 - index));
    t.same(await next(2), idsOf(byAge.slice(0, 2)).sort(), "of those told long ago too");
    for (const [index, { id }] of byAge.entries()) await deliveryIs(ground, id, queued("lost", 60 - index));
    t.same(await next(2), idsOf(byAge.slice(0, 2)).sort(), "and of those told to another life of Redis");
  },
);

t.test("partitions that are full are left out", async (t) => {
  const ground = await openQueue(t);
  const refs: DeliveryRef[] = [];
  for (const byte of [0x00, 0x09, 0xfa, 0x0b])
    refs.push(...(await dueRows({ ...ground, clientId: await clientEndingIn(ground.db, byte) }, 1)));
  const next = async (full: number[]) =>
    idsOf(await enqueueDue(ground.db, { ...WISH, partitions: 8, full })).sort();
  t.same(await next([0, 1, 3]), [refs[2]?.id], "0xfa belongs to the third");
  t.same(await next([1]), [refs[0]?.id, refs[3]?.id].sort());
  t.same(await next([]), [refs[1]?.id]);
});

t.test("two that look at once take different ones, and neither waits", async (t) => {
  const ground = await openQueue(t);
  const refs = await dueRows(ground, 4);
  const raw = await rawClient(t, ground.config.DATABASE_URL);
  await raw.query("begin");
  const one = await enqueueDue(impatient(raw), { ...WISH, limit: 3 });
  const other = await enqueueDue(ground.db, WISH);
  await raw.query("commit");
  t.same([one.length, other.length], [3, 1]);
  t.same(idsOf([...one, ...other]).sort(), idsOf(refs).sort());
});

t.test(
  "what is taken back from the queue is due at once, or after a while, unless it is no longer waiting",
  async (t) => {
    const ground = await openQueue(t);
    const refs = await dueRows(ground, 3, queued("now", 1));
    const [waiting, out, later] = refs as [DeliveryRef, DeliveryRef, DeliveryRef];
    await deliveryIs(ground, out.id, inHand("wrk_1", 1));
    await deliveryIs(ground, later.id, { next_attempt_at: inSeconds(600) });
    const before = await Promise.all(refs.map(({ id }) => deliveryOf(ground, id)));
    await unqueue(ground.db, refs);
    t.same(await deliveryOf(ground, waiting.id), { ...before[0], enqueued_at: null });
    t.same(await deliveryOf(ground, out.id), before[1]);
    t.same(await deliveryOf(ground, later.id), before[2]);
    await unqueue(ground.db, refs, 300_000);
    const { next_attempt_at: at } = await deliveryOf(ground, waiting.id);
    t.ok(Math.abs((at as Date).getTime() - inSeconds(300).getTime()) < 60_000);
    t.same(await deliveryOf(ground, out.id), before[1]);
    t.same(await deliveryOf(ground, later.id), before[2]);
  },
);
