import t, { type Test } from "tap";
import { claimTick } from "../../../src/store/processes/cron-runs.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { EVERY_SECOND, NEVER, openDatabase } from "../../fixtures/processes/schedulers.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { cloneDatabase, rawClient } from "../../fixtures/servers/servers.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { until } from "../../fixtures/until.ts";

async function dieOverRun(t: Test): Promise<void> {
  const DATABASE_URL = await cloneDatabase(t);
  const settings = await testSettings(t, { DATABASE_URL });
  const other = startProcess(t, "scheduler", { ...settings, CRON_MAINTENANCE: NEVER });
  await other.line("process.ready");
  const client = await rawClient(t, DATABASE_URL);
  await client.query("begin");
  await client.query("lock table idempotency_keys in access exclusive mode");
  const first = startProcess(t, "scheduler", { ...settings, CRON_MAINTENANCE: EVERY_SECOND });
  t.match(await first.line("cron.ran"), { level: "warn", job: "maintenance", outcome: "overlapped" });
  const readRun = async () => {
    const { rows } = await client.query(
      "select worker, scheduled_at, outcome from cron_runs where outcome is distinct from 'overlapped'",
    );
    return rows;
  };
  const [begun, ...more] = await readRun();
  t.same(more, [], "one run");
  t.equal(await first.stop("SIGKILL"), "SIGKILL");
  await client.query("rollback");
  const [left] = await readRun();
  t.match(left, { ...begun, outcome: null }, "nobody has ended it");

  const tick = { job: "maintenance", outcome: "ok", scheduled_at: begun.scheduled_at.toISOString() };
  t.match(await other.line("cron.ran"), { ...tick, taken_from: begun.worker });
  const [run] = await readRun();
  t.match(run, { scheduled_at: begun.scheduled_at, outcome: "ok" });
  t.not(run.worker, begun.worker);
  t.equal(await other.stop(), 0);
}

/** It stands still between the statements of a claim, and holds the job's lock. */
async function freezeOverClaim(t: Test): Promise<void> {
  const db = await openDatabase(t);
  let thaw = () => {};
  const frozen = new Promise<void>((resolve) => {
    thaw = resolve;
  });
  const { statements, database } = watchStatements((text) =>
    text.includes("insert into cron_runs") ? frozen : Promise.resolve(),
  );
  const claimant = { worker: "wrk_1", deadAfter: 10_000 };
  const tick = { job: "j", scheduledAt: new Date() };
  const cold = claimTick(database(db), tick, claimant).catch((error: Error) => error);
  await until("it has the lock", () => statements.length === 2);
  t.same(await claimTick(db, tick, { ...claimant, worker: "wrk_2" }), { outcome: "claimed" });
  thaw();
  t.match(await cold, { name: "DatabaseUnavailable" }, "it has claimed nothing");
  t.match(await db.query("select worker from cron_runs"), [{ worker: "wrk_2" }]);
}

t.test("a scheduler that dies or freezes leaves its work to the others", (t) =>
  Promise.all([dieOverRun(t), freezeOverClaim(t)]),
);
