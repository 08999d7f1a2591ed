import t, { type Test } from "tap";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { createDatabase, type Database } from "../../src/store/database.ts";
import { cron } from "../../workers/scheduler/cron.ts";
import { type Job, jobs } from "../../workers/scheduler/jobs.ts";
import { keptLog } from "../fixtures/lines.ts";
import { testConfig } from "../fixtures/settings.ts";
import { until } from "../fixtures/until.ts";

const EVERY_SECOND = "* * * * * *";

async function startSchedulers(t: Test, count: number, table: readonly Job[], db: Database) {
  const { log, lines } = keptLog();
  const metrics = createMetrics("scheduler");
  for (let number = 1; number <= count; number++) {
    const scheduler = cron({ id: `wrk_${number}`, jobs: table, db, log, metrics });
    await scheduler.start?.({ fail: (error) => t.fail(String(error)) });
    t.teardown(() => scheduler.close?.());
  }
  return { metrics, ran: () => lines.filter((line) => line.event === "cron.ran") };
}

async function openDatabase(t: Test): Promise<Database> {
  const db = createDatabase(await testConfig(t), () => {});
  t.teardown(() => db.close());
  return db;
}

t.test("of two schedulers one runs each tick", async (t) => {
  const db = await openDatabase(t);
  let runs = 0;
  const job = { name: "count", expression: EVERY_SECOND, run: async () => ({ runs: ++runs }) };
  const { ran } = await startSchedulers(t, 2, [job], db);
  await until("three ticks", () => ran().length >= 3);
  const ticks = ran().map((line) => line.scheduled_at);
  t.equal(new Set(ticks).size, ticks.length, "no tick ran twice");
  t.match(ran()[0], { job: "count", outcome: "ok", runs: 1, ms: Number, scheduled_at: /:\d\d\.000Z$/ });
  const rows = await db.query("select 1 from cron_runs where outcome = 'ok' and finished_at is not null");
  t.ok(rows.length >= 3);
});

t.test("a job that fails is logged, counted and kept on record, and goes on at its next tick", async (t) => {
  const db = await openDatabase(t);
  const job = { name: "fall", expression: EVERY_SECOND, run: () => Promise.reject(new TypeError("broken")) };
  const { ran, metrics } = await startSchedulers(t, 1, [job], db);
  await until("two failures", () => ran().length >= 2);
  t.match(ran()[0], { level: "error", outcome: "failed", err: { message: "broken" } });
  t.match(
    await metrics.text(),
    /herald_cron_runs_total\{job="fall",outcome="failed",process="scheduler"\} [2-9]/,
  );
  const [row] = await db.query("select outcome, error from cron_runs order by scheduled_at limit 1");
  t.same(row, { outcome: "failed", error: "TypeError" });
});

t.test("a tick that can not be claimed did not run, and is said so", async (t) => {
  const config = { ...(await testConfig(t)), DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const job = { name: "never", expression: EVERY_SECOND, run: () => Promise.reject(t.fail("it ran")) };
  const { ran } = await startSchedulers(t, 1, [job], db);
  await until("one tick", () => ran().length >= 1);
  t.match(ran()[0], { level: "error", outcome: "not_claimed" });
});

t.test("maintenance forgets old ticks and workers that are long silent", async (t) => {
  const config = await testConfig(t);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  await db.query(
    "insert into cron_runs (job, scheduled_at, worker) values ('old', now() - interval '31 days', 'w'), ('new', now(), 'w')",
  );
  await db.query(
    "insert into workers (id, process, heartbeat_at) values ('old', 'dispatcher', now() - interval '2 days'), ('new', 'dispatcher', now())",
  );
  const maintenance = jobs(config, db).find((job) => job.name === "maintenance");
  t.match(await maintenance?.run(), { ticks_forgotten: 1, workers_forgotten: 1, event_partitions_made: 0 });
  t.same(await db.query("select job from cron_runs"), [{ job: "new" }]);
  t.same(await db.query("select id from workers"), [{ id: "new" }]);
});
