import t from "tap";
import { MAX_CALLS_PER_BATCH } from "../../../src/platforms/client/client.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { insertReport } from "../../../src/store/ads/insights-reports.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { connectPlatforms, createFaultControls } from "../../fixtures/platforms/platforms.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { backdateSchedulers, CRON_EVERY_SECOND } from "../../fixtures/processes/schedulers.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { issueAdToken } from "../../fixtures/sandbox/ad-platform.ts";
import { startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import { COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID } from "../../fixtures/tenants/ad-grants.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const REPORTS_PER_ACCOUNT = MAX_CALLS_PER_BATCH + 5;

t.test("each report is announced once, although a scheduler is killed between two batches", async (t) => {
  const sandbox = await startSandbox(t);
  const settings = await testSettings(t, {
    SANDBOX_PORT: new URL(sandbox.origin).port,
    CRON_REPORTS: CRON_EVERY_SECOND,
  });
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const { insights } = (await connectPlatforms(t, settings, { log: captureLog().log })).ads;

  async function startReports(accountId: string): Promise<void> {
    const tenant = await makeTenant({ db, config });
    const token = issueAdToken([accountId]);
    const { adAccountId } = await grantAdAccount({ db, config }, tenant, { accountId, token });
    const access = { account: adAccountId, token };
    let report_run_id = "";
    for (let count = 0; count < REPORTS_PER_ACCOUNT; count++) {
      report_run_id = await insights.startReport(access, { fields: ["spend"] });
      const run = { report_run_id, async_status: "Job Not Started", async_percent_completion: 0 };
      const selection = { adAccountId, fields: ["spend"], breakdowns: [] };
      await insertReport(db, tenant.id, { id: report_run_id, ...selection, run });
    }
    await until("the last report has completed", async () => {
      const { async_status } = await insights.readReport(access, report_run_id);
      return async_status === "Job Completed";
    });
  }
  await Promise.all([COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID].map(startReports));
  /** The first batch of each account is answered, the second is not until its scheduler is killed. */
  const { arm, clearFaults } = createFaultControls(sandbox);
  await arm({ kind: "delay", ms: 1, times: 2 * MAX_CALLS_PER_BATCH, match: { method: "GET" } });
  await arm({ kind: "delay", ms: 120_000, times: 1_000, match: { method: "GET" } });

  const countAnnounced = async () => {
    const [row] = await db.query<{ count: number }>(
      "select count(*)::integer as count from events where type = 'insights.report.completed'",
    );
    return row?.count ?? 0;
  };
  const killed = startProcess(t, "scheduler", settings);
  await until("some reports are announced", async () => (await countAnnounced()) > 0);
  await killed.stop("SIGKILL");
  t.ok((await countAnnounced()) <= 2 * MAX_CALLS_PER_BATCH, "the second batches are not announced");
  await clearFaults();
  await backdateSchedulers(db);
  // The reports of the killed batches would be due in 20 seconds.
  await db.query("update insights_reports set next_check_at = now()");
  const next = startProcess(t, "scheduler", settings);
  await until("all reports are announced", async () => (await countAnnounced()) >= 2 * REPORTS_PER_ACCOUNT);
  await next.waitForLine("cron.ran", { job: "reports", outcome: "failed", error: "abandoned" });
  const repeated = await db.query(
    `select payload::json #>> '{data,report_run_id}' as id
    from events
    group by 1
    having count(*) > 1`,
  );
  t.same(repeated, []);
  t.same(await db.query("select id from insights_reports where finished_at is null or deaths > 0"), []);
});
