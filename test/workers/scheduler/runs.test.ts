import t from "tap";
import { HOUR } from "../../../src/runtime/durations.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { claimTick } from "../../../src/store/processes/cron-runs.ts";
import type { Job, JobTick } from "../../../workers/scheduler/cron.ts";
import {
  backdateSchedulers,
  CRON_EVERY_SECOND,
  createBlockingJob,
  IN_AN_HOUR,
  openDatabase,
  putWorker,
  startSchedulers,
} from "../../fixtures/processes/schedulers.ts";
import { recordWork } from "../../fixtures/recorded-work.ts";
import { until } from "../../fixtures/until.ts";

/** Longer than two intervals of a job that runs every second: a tick is missed at the latest when the next one is due. */
const SUSPENDED_MS = 2_100;

const HOUR_AGO = new Date(Math.floor(Date.now() / 1_000) * 1_000 - HOUR);
const LATER = new Date(HOUR_AGO.getTime() + 60_000);

interface Run {
  worker: string;
  job?: string;
  /** Seconds ago. */
  started?: number;
}

const putRun = (db: Database, { worker, job = "j", started = 600 }: Run) =>
  db.query(
    "insert into cron_runs (job, scheduled_at, worker, started_at) values ($1, $2, $3, now() - $4 * interval '1 second')",
    [job, HOUR_AGO, worker, started],
  );

const readRun = async (db: Database, job = "j", scheduledAt = HOUR_AGO) => {
  const [row] = await db.query<object>(
    "select worker, outcome, error from cron_runs where job = $1 and scheduled_at = $2",
    [job, scheduledAt],
  );
  return row;
};

t.test("runs", async (t) => {
  t.jobs = 8; // mostly waiting

  t.test(
    "a claim closes the unfinished run of a dead scheduler, and overlaps with that of a living one",
    async (t) => {
      const db = await openDatabase(t);
      await putWorker(db, "wrk_alive", IN_AN_HOUR);
      await putWorker(db, "wrk_silent", 11);
      for (const [worker, started, isOverlapped] of [
        ["wrk_gone", 600, false],
        ["wrk_silent", 600, false],
        // The answer to its own claim was lost.
        ["wrk_1", 0, false],
        ["wrk_alive", 600, true],
        // Claimed before its first heartbeat.
        ["wrk_gone", IN_AN_HOUR, true],
      ] as const) {
        await db.query("delete from cron_runs");
        await putRun(db, { worker, started });
        const tick = { job: "j", scheduledAt: LATER, worker: "wrk_1" };
        const unfinished = { job: "j", scheduledAt: HOUR_AGO, worker };
        t.same(await claimTick(db, tick), { isOverlapped, unfinished }, worker);
        const closed = { worker, outcome: "failed", error: "abandoned" };
        t.match(await readRun(db), isOverlapped ? { worker, outcome: null } : closed);
        t.match(await readRun(db, "j", LATER), {
          worker: "wrk_1",
          outcome: isOverlapped ? "overlapped" : null,
        });
        t.equal(await claimTick(db, { ...tick, worker: "wrk_2" }), undefined, "already claimed");
      }
    },
  );

  t.test("a late claim of a tick that has run does not close its run", async (t) => {
    const db = await openDatabase(t);
    await putRun(db, { worker: "wrk_gone" });
    t.equal(await claimTick(db, { job: "j", scheduledAt: HOUR_AGO, worker: "wrk_1" }), undefined);
    t.match(await readRun(db), { outcome: null });
  });

  t.test("a job whose scheduler died runs at its next tick, which logs the abandoned run", async (t) => {
    const db = await openDatabase(t);
    await putRun(db, { worker: "wrk_gone" });
    const job = { name: "j", expression: CRON_EVERY_SECOND, run: async () => ({}) };
    const { ran, metrics } = await startSchedulers(t, { db, jobs: [job], count: 2 });
    await until("the next tick ran", () => ran("ok").length >= 1);
    const expected = { scheduled_at: HOUR_AGO.toISOString(), error: "abandoned", worker: "wrk_gone" };
    t.match(ran("failed"), [{ level: "error", ...expected }]);
    t.match(await metrics.text(), /herald_cron_runs_total\{job="j",outcome="failed",process="scheduler"\} 1/);
  });

  t.test("a run that ends although it was closed as abandoned records its outcome", async (t) => {
    const db = await openDatabase(t);
    const { job, begun, letGo } = createBlockingJob("held", CRON_EVERY_SECOND);
    const { ran } = await startSchedulers(t, { db, jobs: [job] });
    await until("the job runs", () => begun.length === 1);
    await backdateSchedulers(db);
    const other = { job: "held", scheduledAt: LATER, worker: "wrk_2" };
    t.match(await claimTick(db, other), { isOverlapped: false, unfinished: { worker: "wrk_1" } });
    letGo();
    await until("the run ended", () => ran("ok").length >= 1);
    t.match(await readRun(db, "held", begun[0]), { worker: "wrk_1", outcome: "ok", error: null });
  });

  t.test("a stopping scheduler finishes runs that end in time and stops the others", async (t) => {
    const db = await openDatabase(t);
    const ends = createBlockingJob("ends", CRON_EVERY_SECOND);
    const stays = createBlockingJob("stays", CRON_EVERY_SECOND);
    let stopsBegan = 0;
    const run = ({ signal }: JobTick) => {
      stopsBegan += 1;
      return new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    const stops = { name: "stops", expression: CRON_EVERY_SECOND, run };
    // One run has no time to end, one has time to be stopped, and one has time to end.
    const start = (job: Job, times: { abortAfter: number; exitAfter: number }) =>
      startSchedulers(t, { db, jobs: [job], times });
    const abandoning = await start(stays.job, { abortAfter: 100, exitAfter: 200 });
    const stopping = await start(stops, { abortAfter: 100, exitAfter: HOUR });
    const patient = await start(ends.job, { abortAfter: HOUR, exitAfter: HOUR });
    await until("all run", () => stopsBegan + stays.begun.length + ends.begun.length === 3);
    const closing = [abandoning, stopping, patient].map(({ schedulers }) => schedulers[0]?.close?.());
    ends.letGo();
    await Promise.all(closing);
    t.match(patient.ran("ok"), [{ job: "ends" }], "a run that ends in time is finished");
    t.match(stopping.ran("stopped"), [{ job: "stops", level: "warn" }]);
    t.match(abandoning.ran("stopped"), [{ job: "stays", level: "warn" }], "without waiting for it");
    const rows = await db.query(
      "select job, outcome, error from cron_runs where outcome is distinct from 'overlapped' order by job",
    );
    t.same(rows, [
      { job: "ends", outcome: "ok", error: null },
      { job: "stays", outcome: null, error: null },
      { job: "stops", outcome: "failed", error: "stopped" },
    ]);

    await backdateSchedulers(db); // as if the usual shutdown time had passed
    const rerun = new Set<string>();
    const jobs = [stops, stays.job].map((job) => ({
      ...job,
      run: async () => ({ runs: rerun.add(job.name).size }),
    }));
    const next = await startSchedulers(t, { db, jobs });
    await until("both run again at their next tick", () => rerun.size === 2);
    await until("the unfinished run is logged", () => next.ran("failed").length >= 1);
    t.match(next.ran("failed"), [{ job: "stays", error: "abandoned" }]);
    stays.letGo();
  });

  t.test("a run is tracked by the name of its job until it ends or fails", async (t) => {
    const { tracker, calls } = recordWork();
    let runs = 0;
    const job = {
      name: "tokens",
      expression: CRON_EVERY_SECOND,
      async run() {
        calls.push("run");
        runs += 1;
        if (runs > 1) throw new Error("a defect");
        return {};
      },
    };
    const { ran } = await startSchedulers(t, { db: await openDatabase(t), jobs: [job], tracker });
    await until(
      "a run has succeeded and one has failed",
      () => ran("ok").length > 0 && ran("failed").length > 0,
    );
    const oneRun = ["begin job tokens", "run", "end job tokens"];
    t.same(calls.slice(0, 6), [...oneRun, ...oneRun]);
  });
});

t.test(
  "ticks that were due while the process was suspended are logged as missed and do not run",
  async (t) => {
    const db = await openDatabase(t);
    const runs: string[] = [];
    const run = async ({ scheduledAt }: JobTick) => ({ runs: runs.push(scheduledAt.toISOString()) });
    const { ran } = await startSchedulers(t, {
      db,
      jobs: [{ name: "j", expression: CRON_EVERY_SECOND, run }],
    });
    await until("a tick ran", () => ran("ok").length >= 1);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SUSPENDED_MS);
    await until("the missed tick is logged", () => ran("missed").length >= 1);
    const [missed] = ran("missed");
    t.match(missed, { level: "error", job: "j", scheduled_at: /:\d\d\.000Z$/ });
    await until("a later tick ran", () => runs.some((tick) => tick > String(missed?.scheduled_at)));
    t.notOk(runs.includes(String(missed?.scheduled_at)));
  },
);
