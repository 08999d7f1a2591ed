import t, { type Test } from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { claimTick } from "../../../src/store/processes/cron-runs.ts";
import { startScriptedAdPlatform } from "../../fixtures/platforms/scripted-ad-platform.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { CRON_EVERY_SECOND, CRON_NEVER, openDatabase } from "../../fixtures/processes/schedulers.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** Kills a scheduler during maintenance and the check of a connection; the other one counts a death of the connection. */
async function killDuringRuns(t: Test): Promise<void> {
  const adPlatform = await startScriptedAdPlatform(t);
  const settings = await testSettings(t, { AD_PLATFORM_URL: adPlatform.base, CRON_MAINTENANCE: CRON_NEVER });
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  await grantAdAccount({ db, config }, await makeTenant({ db, config }));
  const readConnection = async () =>
    (await db.query("select worker_id, deaths, checked_in from ad_connections"))[0];
  const unanswered: (() => void)[] = [];
  adPlatform.setAnswer("debug_token", async () => {
    await new Promise<void>((resolve) => unanswered.push(resolve));
    return { data: { is_valid: true, user_id: "42", expires_at: 0 } };
  });
  const client = await connectRawClient(t, config.DATABASE_URL);
  const readRun = async () => {
    const { rows } = await client.query(
      "select worker, scheduled_at, outcome from cron_runs where job = 'maintenance' and (outcome is null or outcome = 'ok')",
    );
    return rows;
  };

  const other = startProcess(t, "scheduler", settings);
  const { worker } = await other.waitForLine("heartbeat.started");
  await other.waitForLine("process.ready");
  await client.query("begin");
  await client.query("lock table idempotency_keys in access exclusive mode");
  const everySecond = { CRON_MAINTENANCE: CRON_EVERY_SECOND, CRON_TOKENS: CRON_EVERY_SECOND };
  const first = startProcess(t, "scheduler", { ...settings, ...everySecond });
  const { worker: killed } = await first.waitForLine("heartbeat.started");
  await first.waitForLine("cron.ran", { job: "maintenance", level: "warn", outcome: "overlapped" });
  await until("the connection is being checked", () => unanswered.length === 1);
  t.match(await readConnection(), { worker_id: killed, deaths: 0 });
  const [startedRun, ...otherRuns] = await readRun();
  t.same(otherRuns, [], "one run");
  t.equal(await first.stop("SIGKILL"), "SIGKILL");
  await client.query("rollback");
  const [unfinishedRun] = await readRun();
  t.match(unfinishedRun, { ...startedRun, outcome: null }, "the run is unfinished");

  const tick = { job: "maintenance", outcome: "ok", scheduled_at: startedRun.scheduled_at.toISOString() };
  t.match(await other.waitForLine("cron.ran", { job: "maintenance" }), {
    ...tick,
    taken_from: startedRun.worker,
  });
  const [finishedRun] = await readRun();
  t.match(finishedRun, { scheduled_at: startedRun.scheduled_at, outcome: "ok" });
  t.not(finishedRun.worker, startedRun.worker);
  await until("the other scheduler checks the connection", () => unanswered.length === 2);
  t.match(await readConnection(), { worker_id: worker, deaths: 1 });
  for (const answer of unanswered) answer();
  t.match(await other.waitForLine("cron.ran", { job: "tokens" }), {
    outcome: "ok",
    checked: 1,
    quarantined: 0,
  });
  t.match(await readConnection(), { worker_id: null, deaths: 0, checked_in: Date });
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
  Promise.all([killDuringRuns(t), freezeDuringClaim(t)]),
);
