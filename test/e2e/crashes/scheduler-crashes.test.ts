import t, { type Test } from "tap";
import { claimTick } from "../../../src/store/processes/cron-runs.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { CRON_EVERY_SECOND, CRON_NEVER, openDatabase } from "../../fixtures/processes/schedulers.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { until } from "../../fixtures/until.ts";

async function killDuringRun(t: Test): Promise<void> {
  const DATABASE_URL = await cloneDatabase(t);
  const settings = await testSettings(t, { DATABASE_URL });
  const other = startProcess(t, "scheduler", { ...settings, CRON_MAINTENANCE: CRON_NEVER });
  await other.waitForLine("process.ready");
  const client = await connectRawClient(t, DATABASE_URL);
  await client.query("begin");
  await client.query("lock table idempotency_keys in access exclusive mode");
  const first = startProcess(t, "scheduler", { ...settings, CRON_MAINTENANCE: CRON_EVERY_SECOND });
  t.match(await first.waitForLine("cron.ran"), { level: "warn", job: "maintenance", outcome: "overlapped" });
  const readRun = async () => {
    const { rows } = await client.query(
      "select worker, scheduled_at, outcome from cron_runs where outcome is distinct from 'overlapped'",
    );
    return rows;
  };
  const [startedRun, ...otherRuns] = await readRun();
  t.same(otherRuns, [], "one run");
  t.equal(await first.stop("SIGKILL"), "SIGKILL");
  await client.query("rollback");
  const [unfinishedRun] = await readRun();
  t.match(unfinishedRun, { ...startedRun, outcome: null }, "the run is unfinished");

  const tick = { job: "maintenance", outcome: "ok", scheduled_at: startedRun.scheduled_at.toISOString() };
  t.match(await other.waitForLine("cron.ran"), { ...tick, taken_from: startedRun.worker });
  const [finishedRun] = await readRun();
  t.match(finishedRun, { scheduled_at: startedRun.scheduled_at, outcome: "ok" });
  t.not(finishedRun.worker, startedRun.worker);
  t.equal(await other.stop(), 0);
}

/** Freezes a scheduler between the statements of a claim, while it holds the job's lock. */
async function freezeDuringClaim(t: Test): Promise<void> {
  const db = await openDatabase(t);
  let unfreeze = () => {};
  const frozen = new Promise<void>((resolve) => {
    unfreeze = resolve;
  });
  const { statements, database } = watchStatements((text) =>
    text.includes("insert into cron_runs") ? frozen : Promise.resolve(),
  );
  const claimant = { worker: "wrk_1", deadAfter: 10_000 };
  const tick = { job: "j", scheduledAt: new Date() };
  const frozenClaim = claimTick(database(db), tick, claimant).catch((error: Error) => error);
  await until("the frozen scheduler holds the lock", () => statements.length === 2);
  t.same(await claimTick(db, tick, { ...claimant, worker: "wrk_2" }), { outcome: "claimed" });
  unfreeze();
  t.match(await frozenClaim, { name: "DatabaseUnavailable" }, "the frozen scheduler claims nothing");
  t.match(await db.query("select worker from cron_runs"), [{ worker: "wrk_2" }]);
}

t.test("another scheduler takes over the work of a killed or frozen one", (t) =>
  Promise.all([killDuringRun(t), freezeDuringClaim(t)]),
);
