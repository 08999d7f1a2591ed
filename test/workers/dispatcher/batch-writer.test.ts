import t, { type Test } from "tap";
import type { Database } from "../../../src/store/database/database.ts";
import { DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import { type Finish, finishDeliveries } from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import { createFinisher } from "../../../workers/dispatcher/batch-writer.ts";
import { bare } from "../../../workers/dispatcher/delivering/outcomes.ts";
import { keptLog } from "../../fixtures/captured-log.ts";
import { attemptsOf, deliveryIs, deliveryOf } from "../../fixtures/events/events.ts";
import { claimed, dueRows, finishOf, openQueue } from "../../fixtures/events/queue-rows.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { until } from "../../fixtures/until.ts";

/** So many in hand, and a finisher; `before` each of its statements. */
async function begin(t: Test, count: number, before?: () => Promise<void>) {
  const ground = await openQueue(t);
  const refs = await dueRows(ground, count);
  const { lease } = await claimed(ground, refs);
  const watched = watchStatements(before);
  const { log, lines } = keptLog();
  const db: Database = watched.database(ground.db);
  const finisher = createFinisher({
    what: "delivery",
    write: (finishes: readonly Finish[]) => finishDeliveries(db, finishes),
    bare,
    log,
  });
  const finish = (ref: DeliveryRef, change: Parameters<typeof finishOf>[2] = {}) =>
    finisher.finish(finishOf(ref, lease, change));
  return { ground, refs, finish, lease, statements: watched.statements, lines };
}

const attempt = (change: object) => ({
  attempt: { ...finishOf({ clientId: "", id: "" }, { token: "", worker: "" }).attempt, ...change } as never,
});

t.test("many endings are written in one statement, a hundred at most", async (t) => {
  const { ground, refs, finish, statements } = await begin(t, 150);
  await Promise.all(refs.map((ref) => finish(ref, { state: "delivered", delay_ms: null })));
  t.equal(statements.length, 2);
  t.same(await ground.db.query("select distinct state from deliveries"), [{ state: "delivered" }]);
  t.match(await ground.db.query("select count(*)::integer from attempts"), [{ count: 150 }]);
});

t.test("while Postgres is away it keeps what it has, and writes it afterwards", async (t) => {
  let isAway = true;
  const { ground, refs, finish, statements } = await begin(t, 3, async () => {
    if (isAway) throw new DatabaseUnavailable(new Error("away"));
  });
  let written = 0;
  const finishing = refs.map((ref) =>
    finish(ref).then(() => {
      written += 1;
    }),
  );
  await until("it has tried again", () => statements.length >= 2);
  t.equal(written, 0);
  isAway = false;
  await Promise.all(finishing);
  for (const ref of refs) t.match(await deliveryOf(ground, ref.id), { state: "retrying", attempts: 1 });
});

t.test(
  "one that Postgres refuses is written without what others said, and its neighbours with it",
  async (t) => {
    const { ground, refs, finish, lines } = await begin(t, 3);
    const [first, bad, last] = refs as [DeliveryRef, DeliveryRef, DeliveryRef];
    await Promise.all([
      finish(first),
      finish(bad, attempt({ error: "a \u0000", response_excerpt: "\u0000" })),
      finish(last),
    ]);
    for (const ref of [first, last])
      t.match(await attemptsOf(ground, ref.id), [{ error: "HTTP 500", response_excerpt: "oh no" }]);
    t.match(await attemptsOf(ground, bad.id), [
      { error: "internal", response_excerpt: null, status_code: 500 },
    ]);
    t.match(await deliveryOf(ground, bad.id), { state: "retrying", last_error: "internal", lease: null });
    t.same(lines, []);
  },
);

t.test("one that can not be written at all is said, and left to the sweeper", async (t) => {
  const { ground, refs, finish, lines } = await begin(t, 2);
  const [bad, good] = refs as [DeliveryRef, DeliveryRef];
  await Promise.all([finish(bad, attempt({ status_code: 10 ** 12 })), finish(good)]);
  t.match(lines, [{ event: "delivery.not_written", level: "error", event_id: bad.id }]);
  t.match(await deliveryOf(ground, bad.id), { state: "in_flight", attempts: 0 });
  t.match(await deliveryOf(ground, good.id), { state: "retrying", attempts: 1 });
});

t.test("who has lost the lease says so, and goes on", async (t) => {
  const { ground, refs, finish, lines } = await begin(t, 2);
  const [lost, kept] = refs as [DeliveryRef, DeliveryRef];
  await deliveryIs(ground, lost.id, { state: "retrying", lease: null });
  await Promise.all([finish(lost), finish(kept)]);
  t.match(lines, [{ event: "delivery.lost", event_id: lost.id }]);
  t.same(await attemptsOf(ground, lost.id), []);
  t.equal((await attemptsOf(ground, kept.id)).length, 1);
});
