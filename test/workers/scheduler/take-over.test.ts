import t from "tap";
import { HOUR } from "../../../src/runtime/durations.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { claimTick } from "../../../src/store/processes/cron-runs.ts";
import { heartbeat } from "../../../workers/heartbeat.ts";
import type { Job, JobTick } from "../../../workers/scheduler/job.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import {
  CRON_EVERY_SECOND,
  CRON_NEVER,
  createBlockingJob,
  openDatabase,
  startSchedulers,
} from "../../fixtures/processes/schedulers.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { until } from "../../fixtures/until.ts";

const HOUR_AGO = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000);
const LATER = new Date(HOUR_AGO.getTime() + 60_000);
const FREQUENT_CHECKS = { checkPeersInterval: 50 };

interface Row {
  job: string;
  worker: string;
  scheduledAt?: Date;
  /** Seconds ago. */
  started?: number;
  outcome?: string;
}

const putRun = (db: Database, { job, worker, scheduledAt = HOUR_AGO, started = 600, outcome }: Row) =>
  db.query(
    `insert into cron_runs (job, scheduled_at, worker, started_at, finished_at, outcome)
    values ($1, $2, $3, now() - $4 * interval '1 second', case when $5::text is not null then now() end, $5)`,
    [job, scheduledAt, worker, started, outcome ?? null],
  );

/** Seconds of a heartbeat or a start that stays recent, however long the test takes. */
const IN_AN_HOUR = -3_600;

const putWorker = (db: Database, id: string, silent: number) =>
  db.query(
    "insert into workers (id, process, heartbeat_at) values ($1, 'scheduler', now() - $2 * interval '1 second')",
    [id, silent],
  );

const readRun = async (db: Database, job: string, scheduledAt = HOUR_AGO) => {
  const [row] = await db.query<object>(
    "select worker, outcome, error from cron_runs where job = $1 and scheduled_at = $2",
    [job, scheduledAt],
  );
  return row;
};

/** Runs on record, and the worker from which each is taken over or closed, if any. */
const CASES: Record<string, { rows: Omit<Row, "job">[]; taken?: string; closed?: string }> = {
  gone: { rows: [{ worker: "wrk_gone" }], taken: "wrk_gone" },
  silent: { rows: [{ worker: "wrk_silent" }], taken: "wrk_silent" },
  // The scheduler's own claim, whose answer it did not receive.
  own: { rows: [{ worker: "wrk_1" }], taken: "wrk_1" },
  // An overlapped tick did not run, so it is no newer run.
  overlapped: {
    rows: [{ worker: "wrk_gone" }, { worker: "wrk_living", scheduledAt: LATER, outcome: "overlapped" }],
    taken: "wrk_gone",
  },
  old: {
    rows: [{ worker: "wrk_gone" }, { worker: "wrk_living", scheduledAt: LATER, outcome: "ok" }],
    closed: "wrk_gone",
  },
  living: { rows: [{ worker: "wrk_living" }] },
  begun: { rows: [{ worker: "wrk_gone", started: IN_AN_HOUR }] },
  finished: { rows: [{ worker: "wrk_gone", outcome: "ok" }] },
};

t.test("one scheduler takes over each run of a dead scheduler, and no other runs", async (t) => {
  const db = await openDatabase(t);
  for (const worker of ["wrk_living", "wrk_1", "wrk_2"]) await putWorker(db, worker, IN_AN_HOUR);
  await putWorker(db, "wrk_silent", 11);
  for (const [job, { rows }] of Object.entries({ ...CASES, unknown: { rows: [{ worker: "wrk_gone" }] } }))
    for (const row of rows) await putRun(db, { job, ...row });
  const ticks: [string, Date][] = [];
  const table = Object.keys(CASES).map((name): Job => {
    const run = async ({ scheduledAt }: JobTick) => ({ runs: ticks.push([name, scheduledAt]) });
    return { name, expression: CRON_NEVER, run };
  });
  const before = new Map<string, unknown>();
  for (const job of [...Object.keys(CASES), "unknown"]) before.set(job, await readRun(db, job));

  // A scheduler without stable heartbeats cannot tell which others are dead.
  const { ran: newcomerRan } = await startSchedulers(t, {
    db,
    jobs: table,
    times: FREQUENT_CHECKS,
    hasStableHeartbeat: false,
  });
  const { ran, lines, metrics } = await startSchedulers(t, {
    db,
    jobs: table,
    count: 2,
    times: FREQUENT_CHECKS,
  });
  const expected = Object.values(CASES).filter(({ taken, closed }) => taken || closed).length;
  await until("all runs are recorded", () => ran().length === expected);
  t.same(newcomerRan(), []);
  for (const [job, { taken, closed }] of Object.entries(CASES)) {
    const row = await readRun(db, job);
    const line = ran().find((line) => line.job === job);
    if (taken) {
      t.match(row, { worker: /^wrk_[12]$/, outcome: "ok", error: null }, job);
      t.match(line, { outcome: "ok", taken_from: taken, scheduled_at: HOUR_AGO.toISOString() });
      const begun = lines.filter(({ event, job: name }) => event === "cron.taken_over" && name === job);
      t.match(
        begun,
        [{ level: "warn", worker: /^wrk_[12]$/, taken_from: taken }],
        "logged when it begins too",
      );
      t.same(
        ticks.filter(([name]) => name === job),
        [[job, HOUR_AGO]],
        "run once, with the time at which it was due",
      );
    } else if (closed) {
      t.match(row, { worker: closed, outcome: "failed", error: "abandoned" }, job);
      t.match(line, { level: "error", outcome: "failed", error: "abandoned", worker: closed });
    } else t.same(row, before.get(job), job);
  }
  t.same(
    await readRun(db, "unknown"),
    before.get("unknown"),
    "a job that is not in the cron table is not taken over",
  );
  t.match(await metrics.text(), /herald_cron_runs_total\{job="old",outcome="failed",process="scheduler"\} 1/);
});

t.test("a scheduler that still executes an abandoned run closes no other run", async (t) => {
  const db = await openDatabase(t);
  await putRun(db, { job: "j", worker: "wrk_1", outcome: "failed" });
  await db.query("update cron_runs set error = 'abandoned'");
  await putRun(db, { job: "j", worker: "wrk_gone", scheduledAt: LATER });
  const tick = { job: "j", scheduledAt: new Date() };
  const claim = await claimTick(db, tick, { worker: "wrk_1", deadAfter: 10_000, inFlight: HOUR_AGO });
  t.same(claim, { outcome: "busy" });
  t.match(await readRun(db, "j", LATER), { worker: "wrk_gone", outcome: null });
  const unfinishedRun = { scheduledAt: LATER, worker: "wrk_gone" };
  t.same(await claimTick(db, tick, { worker: "wrk_2", deadAfter: 10_000 }), {
    outcome: "claimed",
    unfinishedRun,
  });
});

t.test("a tick abandons the unfinished run of a dead scheduler and runs", async (t) => {
  const db = await openDatabase(t);
  await putRun(db, { job: "j", worker: "wrk_gone" });
  const tick = { job: "j", scheduledAt: LATER };
  const unfinishedRun = { scheduledAt: HOUR_AGO, worker: "wrk_gone" };
  const claimant = { worker: "wrk_1", deadAfter: 10_000 };
  t.same(await claimTick(db, tick, claimant), { outcome: "claimed", unfinishedRun });
  t.match(await readRun(db, "j"), { outcome: "failed", error: "abandoned" });
  t.match(await readRun(db, "j", LATER), { worker: "wrk_1", outcome: null });
  t.equal(await claimTick(db, tick, { ...claimant, worker: "wrk_2" }), undefined, "already claimed");

  await putRun(db, { job: "k", worker: "wrk_gone" });
  const unsure = await claimTick(db, { ...tick, job: "k" }, { ...claimant, deadAfter: null });
  t.same(
    unsure,
    { outcome: "overlapped", unfinishedRun },
    "a scheduler that cannot tell treats the other as alive",
  );
  t.match(await readRun(db, "k"), { outcome: null });
});

t.test("a scheduler that claims a tick logs the run that it abandoned", async (t) => {
  const db = await openDatabase(t);
  const job = { name: "j", expression: CRON_EVERY_SECOND, run: async () => ({}) };
  const { ran } = await startSchedulers(t, { db, jobs: [job], times: { checkPeersInterval: HOUR } });
  await until("a tick ran, after which peers are no longer checked", () => ran("ok").length >= 1);
  await putRun(db, { job: "j", worker: "wrk_gone" });
  await until("the next tick logs it", () => ran("failed").length >= 1);
  const expected = { scheduled_at: HOUR_AGO.toISOString(), error: "abandoned", worker: "wrk_gone" };
  t.match(ran("failed"), [{ level: "error", ...expected }]);
});

t.test(
  "a stopping scheduler finishes runs that end in time and leaves the others to be taken over",
  async (t) => {
    const db = await openDatabase(t);
    const log = captureLog().log;
    const heartbeatWorker = heartbeat({ id: "wrk_1", process: "scheduler", db, log });
    await heartbeatWorker.start?.({ fail: (error) => t.fail(String(error)) });
    await putWorker(db, "wrk_2", IN_AN_HOUR);
    const names = ["ends", "stops", "stays"];
    for (const job of names) await putRun(db, { job, worker: "wrk_gone" });
    const ends = createBlockingJob("ends", CRON_NEVER);
    const stays = createBlockingJob("stays", CRON_NEVER);
    const run = ({ signal }: JobTick) =>
      new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const stops = { name: "stops", expression: CRON_NEVER, run };
    // One scheduler has little time for its shutdown, the other one more than its run needs.
    const hasty = await startSchedulers(t, {
      db,
      jobs: [stops, stays.job],
      times: { ...FREQUENT_CHECKS, abortAfter: 200, exitAfter: 400 },
    });
    const patient = await startSchedulers(t, {
      db,
      jobs: [ends.job],
      firstNumber: 2,
      times: { ...FREQUENT_CHECKS, abortAfter: HOUR, exitAfter: HOUR },
    });
    await until("all run", async () => {
      const rows = await db.query("select 1 from cron_runs where worker in ('wrk_1', 'wrk_2')");
      return rows.length === names.length;
    });
    // Backdate the runs, as if the usual shutdown time had passed.
    await db.query("update cron_runs set started_at = now() - interval '15 seconds'");
    const closing = [...hasty.schedulers, ...patient.schedulers].map((scheduler) => scheduler.close?.());
    ends.letGo();
    await Promise.all(closing);
    t.match(patient.ran(), [{ job: "ends", outcome: "ok" }], "a run that ends in time is finished");
    t.same(
      hasty.ran().map(({ job, outcome }) => [job, outcome]),
      [
        ["stops", "stopped"],
        ["stays", "stopped"],
      ],
      "runs that do not end in time are stopped",
    );
    t.match(await readRun(db, "ends"), { worker: "wrk_2", outcome: "ok" });
    t.match(await readRun(db, "stops"), { worker: "wrk_1", outcome: null });

    const rerun: string[] = [];
    const others = names.map((name) => ({
      name,
      expression: CRON_NEVER,
      run: async () => ({ runs: rerun.push(name) }),
    }));
    const { statements, database } = watchStatements();
    const next = await startSchedulers(t, {
      db: database(db),
      jobs: others,
      times: FREQUENT_CHECKS,
      firstNumber: 3,
    });
    await until("the other has checked its peers", () => statements.length >= 3);
    t.same(rerun, [], "nothing is taken over while the heartbeat continues");
    await heartbeatWorker.close?.();
    t.same(
      await db.query("select id from workers where id = 'wrk_1'"),
      [],
      "the stopped scheduler is not listed any more",
    );
    await until("another repeats the stopped runs", () => next.ran("ok").length === 2);
    t.same(rerun.sort(), ["stays", "stops"]);
    stays.letGo();
  },
);
