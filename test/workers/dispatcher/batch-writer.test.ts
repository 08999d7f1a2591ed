import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import type { Database } from "../../../src/store/database/database.ts";
import { DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import type { DeliveryRef } from "../../../src/store/events/events.ts";
import { type DeliveryFinish, finishDeliveries } from "../../../src/store/events/finish-deliveries.ts";
import { createBatchWriter } from "../../../workers/dispatcher/batch-writer.ts";
import { withoutRemoteText } from "../../../workers/dispatcher/delivering/outcomes.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { readAttempts, readDelivery, updateDelivery } from "../../fixtures/events/events.ts";
import {
  claimWithNewLease,
  finishOf,
  insertDueDeliveries,
  openQueueContext,
} from "../../fixtures/events/queue-rows.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { until } from "../../fixtures/until.ts";

/** A batch writer with `count` claimed deliveries; `before` runs before each of its statements. */
async function startBatchWriter(t: Test, count: number, before?: () => Promise<void>) {
  const context = await openQueueContext(t);
  const refs = await insertDueDeliveries(context, count);
  const { lease } = await claimWithNewLease(context, refs);
  const watched = watchStatements(before);
  const { log, lines } = captureLog();
  const db: Database = watched.database(context.db);
  const batchWriter = createBatchWriter({
    what: "delivery",
    write: (finishes: readonly DeliveryFinish[]) => finishDeliveries(db, finishes),
    withoutRemoteText,
    log,
  });
  const finish = (ref: DeliveryRef, change: Parameters<typeof finishOf>[2] = {}) =>
    batchWriter.finish(finishOf(ref, lease, change));
  return { context, refs, finish, lease, statements: watched.statements, lines };
}

const attempt = (change: object) => ({
  attempt: { ...finishOf({ clientId: "", id: "" }, { token: "", worker: "" }).attempt, ...change } as never,
});

t.test("up to a hundred outcomes are written in one statement", async (t) => {
  const { context, refs, finish, statements } = await startBatchWriter(t, 150);
  await Promise.all(refs.map((ref) => finish(ref, { state: "delivered", delay_ms: null })));
  t.equal(statements.length, 2);
  t.same(await context.db.query("select distinct state from deliveries"), [{ state: "delivered" }]);
  t.match(await context.db.query("select count(*)::integer from attempts"), [{ count: 150 }]);
});

t.test("outcomes are kept while Postgres is unavailable, and written afterwards", async (t) => {
  let isAway = true;
  const { context, refs, finish, statements } = await startBatchWriter(t, 3, async () => {
    if (isAway) throw new DatabaseUnavailable(new Error("unavailable"));
  });
  let written = 0;
  const finishing = refs.map((ref) =>
    finish(ref).then(() => {
      written += 1;
    }),
  );
  await until("the write was retried", () => statements.length >= 2);
  t.equal(written, 0);
  isAway = false;
  await Promise.all(finishing);
  for (const ref of refs) t.match(await readDelivery(context, ref.id), { state: "retrying", attempts: 1 });
});

t.test(
  "an outcome that Postgres rejects is written without remote text, and the others in full",
  async (t) => {
    const { context, refs, finish, lines } = await startBatchWriter(t, 3);
    const [first, bad, last] = refs as [DeliveryRef, DeliveryRef, DeliveryRef];
    await Promise.all([
      finish(first),
      finish(bad, attempt({ error: "a \u0000", response_excerpt: "\u0000" })),
      finish(last),
    ]);
    for (const ref of [first, last])
      t.match(await readAttempts(context, ref.id), [{ error: "HTTP 500", response_excerpt: "oh no" }]);
    t.match(await readAttempts(context, bad.id), [
      { error: "internal", response_excerpt: null, status_code: 500 },
    ]);
    t.match(await readDelivery(context, bad.id), { state: "retrying", last_error: "internal", lease: null });
    t.same(lines, []);
  },
);

t.test(
  "an outcome that cannot be written is logged, and its row stays in flight for the recovery",
  async (t) => {
    const { context, refs, finish, lines } = await startBatchWriter(t, 2);
    const [bad, good] = refs as [DeliveryRef, DeliveryRef];
    await Promise.all([finish(bad, attempt({ status_code: 10 ** 12 })), finish(good)]);
    t.match(lines, [{ event: "delivery.write_failed", level: "error", event_id: bad.id }]);
    t.match(await readDelivery(context, bad.id), { worker_id: "wrk_1", attempts: 0 });
    t.match(await readDelivery(context, good.id), { state: "retrying", attempts: 1 });
  },
);

t.test("an outcome with a lost lease is logged and not written", async (t) => {
  const { context, refs, finish, lines } = await startBatchWriter(t, 2);
  const [lost, kept] = refs as [DeliveryRef, DeliveryRef];
  await updateDelivery(context, lost.id, { worker_id: "wrk_other", lease: randomUUID() });
  await Promise.all([finish(lost), finish(kept)]);
  t.match(lines, [{ event: "delivery.lease_lost", event_id: lost.id }]);
  t.same(await readAttempts(context, lost.id), []);
  t.equal((await readAttempts(context, kept.id)).length, 1);
});
