import t from "tap";
import { newId } from "../../../src/runtime/ids.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { claimTick } from "../../../src/store/processes/cron-runs.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { insertUser } from "../../../src/store/tenants/users.ts";
import { JobError, setCronGauges } from "../../../workers/scheduler/cron.ts";
import { maintain } from "../../../workers/scheduler/maintenance.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import {
  CRON_EVERY_SECOND,
  CRON_NEVER,
  createBlockingJob,
  IN_AN_HOUR,
  openDatabase,
  putWorker,
  startSchedulers,
} from "../../fixtures/processes/schedulers.ts";
import { testConfig } from "../../fixtures/processes/settings.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const NEVER = new AbortController().signal;

t.test("cron jobs", async (t) => {
  t.jobs = 8; // mostly waiting

  t.test("each tick runs on one of two schedulers", async (t) => {
    const db = await openDatabase(t);
    let runs = 0;
    const job = { name: "count", expression: CRON_EVERY_SECOND, run: async () => ({ runs: ++runs }) };
    const { ran } = await startSchedulers(t, { db, jobs: [job], count: 2 });
    await until("three ticks", () => ran("ok").length >= 3);
    const ticks = ran("ok").map((line) => line.scheduled_at);
    t.equal(new Set(ticks).size, ticks.length, "no tick ran twice");
    t.match(ran("ok")[0], { job: "count", runs: 1, ms: Number, scheduled_at: /:\d\d\.000Z$/ });
    const rows = await db.query("select 1 from cron_runs where outcome = 'ok' and finished_at is not null");
    t.ok(rows.length >= 3);
  });

  t.test("a tick during an earlier run does not run, and each scheduler logs it at most once", (t) => {
    const runWith = async (count: number) => {
      const db = await openDatabase(t);
      for (const worker of ["wrk_1", "wrk_2"]) await putWorker(db, worker, IN_AN_HOUR);
      const { job, begun, letGo } = createBlockingJob("held", CRON_EVERY_SECOND);
      const { ran, metrics } = await startSchedulers(t, { db, jobs: [job], count });
      await until("two ticks overlap", () => ran("overlapped").length >= 2 * count);
      t.equal(begun.length, 1, "one run");
      const [row] = await db.query<{ worker: string }>(
        "select worker from cron_runs where scheduled_at = $1",
        [begun[0]],
      );
      const unfinished = {
        unfinished_scheduled_at: begun[0]?.toISOString(),
        unfinished_worker: row?.worker,
      };
      for (const line of ran("overlapped")) t.match(line, { level: "warn", job: "held", ...unfinished });
      const ticks = ran("overlapped").map((line) => line.scheduled_at);
      t.ok(ticks.every((tick) => ticks.filter((other) => other === tick).length <= count));
      const counted = /herald_cron_runs_total\{job="held",outcome="overlapped",process="scheduler"\} (\d+)/;
      t.ok(Number(counted.exec(await metrics.text())?.[1]) >= 2);
      letGo();
      await until("the next tick ran", () => ran("ok").length >= 2);
      t.equal(ran("ok")[0]?.scheduled_at, begun[0]?.toISOString());
    };
    return Promise.all([runWith(1), runWith(2)]);
  });

  t.test("one of several ticks claimed at the same moment runs", async (t) => {
    const config = await testConfig(t);
    const db = createDatabase(config, () => {});
    t.teardown(() => db.close());
    const client = await connectRawClient(t, config.DATABASE_URL);
    await client.query("begin");
    await client.query("insert into cron_runs (job, scheduled_at, worker) values ('j', now(), 'wrk_9')");
    const claims = Array.from({ length: 8 }, (_, index) => {
      const scheduledAt = new Date(Date.UTC(2026, 0, 1, 0, 0, index % 4));
      return claimTick(db, { job: "j", scheduledAt, worker: `wrk_${index}` });
    });
    await untilBlocked(client, claims.length);
    await client.query("rollback");
    const claimed = (await Promise.all(claims)).filter((claim) => claim !== undefined);
    t.same(claimed, [{ isOverlapped: false }]);
    t.equal((await db.query("select job from cron_runs")).length, 1);
  });

  t.test("a failed job is logged, counted and recorded, and runs again at its next tick", async (t) => {
    const db = await openDatabase(t);
    const job = {
      name: "fall",
      expression: CRON_EVERY_SECOND,
      run: () => Promise.reject(new TypeError("broken")),
    };
    const { ran, metrics } = await startSchedulers(t, { db, jobs: [job] });
    await until("two failures", () => ran("failed").length >= 2);
    t.match(ran("failed")[0], { level: "error", err: "broken" });
    t.match(
      await metrics.text(),
      /herald_cron_runs_total\{job="fall",outcome="failed",process="scheduler"\} ([2-9]|\d\d)/,
    );
    const [row] = await db.query("select error from cron_runs where outcome = 'failed'");
    t.same(row, { error: "TypeError" });
  });

  t.test("a JobError is logged with its counts and without a stack", async (t) => {
    const db = await openDatabase(t);
    const trouble = () =>
      Promise.reject(new JobError("the platform is unavailable", { checked: 3, left: 4 }));
    const job = { name: "trouble", expression: CRON_EVERY_SECOND, run: trouble };
    const { ran } = await startSchedulers(t, { db, jobs: [job] });
    await until("a failure", () => ran("failed").length >= 1);
    t.match(ran("failed")[0], {
      level: "error",
      error: "the platform is unavailable",
      checked: 3,
      left: 4,
    });
    t.notOk(ran("failed")[0]?.err);
  });

  t.test("a tick that cannot be claimed does not run and is logged", async (t) => {
    const config = { ...(await testConfig(t)), DATABASE_URL: "postgres://herald@127.0.0.1:1/none" };
    const db = createDatabase(config, () => {});
    t.teardown(() => db.close());
    const job = { name: "never", expression: CRON_EVERY_SECOND, run: () => Promise.reject(t.fail("it ran")) };
    const { ran } = await startSchedulers(t, { db, jobs: [job] });
    await until("one tick", () => ran("not_claimed").length >= 1);
    t.match(ran("not_claimed")[0], { level: "error" });
  });

  t.test("the gauges report a running job of any scheduler and the last success", async (t) => {
    const db = await openDatabase(t);
    const startedAt = Date.now();
    const { job, begun, letGo } = createBlockingJob("held", CRON_EVERY_SECOND);
    const idle = { ...job, name: "idle", expression: CRON_NEVER };
    const table = [job, idle];
    const { ran, metrics } = await startSchedulers(t, { db, jobs: table });
    const read = async (name: string, of: string) => {
      await setCronGauges({ db, jobs: table, metrics });
      return new RegExp(`${name}\\{job="${of}",[^}]*\\} (\\S+)`).exec(await metrics.text())?.[1];
    };
    await until("the job runs", () => begun.length === 1);
    t.equal(await read("herald_cron_running_seconds", "idle"), "0");
    t.equal(await read("herald_cron_last_success_timestamp_seconds", "held"), undefined);
    await until(
      "it has run for a second",
      async () => Number(await read("herald_cron_running_seconds", "held")) > 1,
    );
    letGo();
    await until("the run ended", () => ran("ok").length >= 1);
    const success = Number(await read("herald_cron_last_success_timestamp_seconds", "held"));
    t.ok(success >= startedAt / 1_000 && success <= Date.now() / 1_000);
    t.equal(await read("herald_cron_quarantined_rows", "tokens"), "0");
  });

  t.test("maintenance deletes sessions that ended or expired more than 30 days ago", async (t) => {
    const config = await testConfig(t);
    const db = createDatabase(config, () => {});
    t.teardown(() => db.close());
    const { id: client } = await createClient(db, "c");
    const user = { id: newId("usr"), email: "a@example.com", name: "A", role: "member", passwordHash: "x" };
    await insertUser(db, client, user);
    const add = (id: string, expires: number, ended: number | null) =>
      db.query(
        `insert into sessions (id, client_id, user_id, created_at, last_used_at, expires_at, ended_at)
        values ($1, $2, $3, now(), now(), now() + $4 * interval '1 day', now() + $5::int * interval '1 day')`,
        [id, client, user.id, expires, ended],
      );
    await add("open", 1, null);
    await add("expired", -29, null);
    await add("ended", 300, -29);
    await add("long expired", -31, null);
    await add("long ended", 300, -31);
    t.match(await maintain(config, { db, log: captureLog().log }, { signal: NEVER }), {
      sessions_deleted: 2,
    });
    const rows = await db.query("select id from sessions order by id");
    t.same(rows, [{ id: "ended" }, { id: "expired" }, { id: "open" }]);
  });

  t.test("maintenance deletes old ticks, dead workers and expired states", async (t) => {
    const config = await testConfig(t);
    const db = createDatabase(config, () => {});
    t.teardown(() => db.close());
    await db.query(
      "insert into cron_runs (job, scheduled_at, worker) values ('old', now() - interval '31 days', 'w'), ('new', now(), 'w')",
    );
    await db.query(
      "insert into workers (id, process, heartbeat_at) values ('old', 'dispatcher', now() - interval '2 days'), ('new', 'dispatcher', now())",
    );
    await db.query(
      "insert into oauth_states (id, expires_at) values ('old', now() - interval '61 minutes'), ('new', now() - interval '59 minutes')",
    );
    t.match(await maintain(config, { db, log: captureLog().log }, { signal: NEVER }), {
      cron_runs_deleted: 1,
      workers_deleted: 1,
      oauth_states_deleted: 1,
    });
    t.same(await db.query("select job from cron_runs"), [{ job: "new" }]);
    t.same(await db.query("select id from workers"), [{ id: "new" }]);
    t.same(await db.query("select id from oauth_states"), [{ id: "new" }]);
  });
});
