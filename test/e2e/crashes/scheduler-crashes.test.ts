import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { startScriptedAdPlatform } from "../../fixtures/platforms/scripted-ad-platform.ts";
import { type RunningProcess, startProcess } from "../../fixtures/processes/processes.ts";
import { backdateSchedulers, CRON_EVERY_SECOND } from "../../fixtures/processes/schedulers.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const KILLING = "EAAkilling";
const OTHERS = ["EAA1", "EAA2", "EAA3", "EAA4", "EAA5"];
const MAX_CONCURRENT_CHECKS = 4;

t.test("a connection that kills schedulers is skipped after three, and all others are checked", async (t) => {
  const adPlatform = await startScriptedAdPlatform(t);
  const settings = await testSettings(t, {
    AD_PLATFORM_URL: adPlatform.base,
    CRON_TOKENS: CRON_EVERY_SECOND,
  });
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const tenant = await makeTenant({ db, config });
  const connections = new Map<string, string>();
  for (const token of [KILLING, ...OTHERS]) {
    const { id } = await grantAdAccount({ db, config }, tenant, { token, status: "available" });
    const [row] = await db.query<{ connection_id: string }>(
      "select connection_id from ad_accounts where id = $1",
      [id],
    );
    connections.set(token, row?.connection_id as string);
  }
  // The killing connection comes first, with three others in flight.
  await db.query("update ad_connections set checked_in = '2026-01-01' where id <> $1", [
    connections.get(KILLING),
  ]);
  const readDeaths = async () => {
    const rows = await db.query<{ id: string; deaths: number }>("select id, deaths from ad_connections");
    const deathsOf = (token: string) => rows.find(({ id }) => id === connections.get(token))?.deaths;
    return { killing: deathsOf(KILLING), others: OTHERS.map(deathsOf).sort() };
  };
  let scheduler: RunningProcess;
  let inspected: string[] = [];
  let rounds = 0;
  adPlatform.setAnswer("debug_token", async ({ token }: { token: string }) => {
    inspected.push(token);
    if (rounds === 1) await until("four are in flight", () => inspected.length === MAX_CONCURRENT_CHECKS);
    if (token === KILLING) scheduler.child.kill("SIGKILL");
    if (token === KILLING || rounds === 1) await new Promise(() => {});
    return { data: { is_valid: true, user_id: "42", expires_at: 0 } };
  });
  /** Returns the tokens that were inspected before the scheduler died, and its worker id. */
  async function runUntilKilled() {
    [inspected, rounds] = [[], rounds + 1];
    scheduler = startProcess(t, "scheduler", settings);
    t.equal(await scheduler.ended(), "SIGKILL");
    await backdateSchedulers(db);
    const { worker } = await scheduler.waitForLine("heartbeat.started");
    return { inspected, worker, lines: scheduler.lines() };
  }

  const first = await runUntilKilled();
  t.ok(first.inspected.includes(KILLING));
  t.same(await readDeaths(), { killing: 1, others: [0, 0, 1, 1, 1] });
  const second = await runUntilKilled();
  t.match(
    second.lines.filter(({ job, outcome }) => job === "tokens" && outcome === "failed"),
    [{ event: "cron.ran", level: "error", error: "abandoned", worker: first.worker }],
    "the next tick of the job closes the run and runs",
  );
  t.ok(second.inspected.length >= 3 && second.inspected.at(-1) === KILLING, "others are checked before it");
  t.equal((await readDeaths()).killing, 2);
  const third = await runUntilKilled();
  t.equal(third.inspected.at(-1), KILLING);
  t.same(await readDeaths(), { killing: 3, others: [0, 0, 0, 0, 0] });

  inspected = [];
  scheduler = startProcess(t, "scheduler", settings);
  t.match(await scheduler.waitForLine("ad_connection.quarantined"), {
    level: "error",
    client: tenant.id,
    connection: connections.get(KILLING),
    deaths: 3,
  });
  t.match(await scheduler.waitForLine("cron.ran", { job: "tokens", outcome: "ok" }), {
    checked: OTHERS.length,
    failed: 0,
    quarantined: 1,
  });
  await until("a second run has ended", () => {
    const runs = scheduler.lines().filter(({ event, outcome }) => event === "cron.ran" && outcome === "ok");
    return runs.filter(({ job }) => job === "tokens").length >= 2;
  });
  t.equal(scheduler.lines().filter(({ event }) => event === "ad_connection.quarantined").length, 1);
  t.notOk(inspected.includes(KILLING));
  t.equal(await scheduler.stop(), 0);
  t.same(await readDeaths(), { killing: 3, others: [0, 0, 0, 0, 0] });
});
