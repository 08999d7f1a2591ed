import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { startApi } from "../fixtures/http/api.ts";
import { createFaultControls } from "../fixtures/platforms/platforms.ts";
import { startScriptedAdPlatform } from "../fixtures/platforms/scripted-ad-platform.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { startProcess } from "../fixtures/processes/processes.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { issueAdToken } from "../fixtures/sandbox/ad-platform.ts";
import { callSandbox, startSandbox } from "../fixtures/sandbox/sandbox.ts";
import { grantAdAccount } from "../fixtures/tenants/ad-accounts.ts";
import {
  COFFEE_ACCOUNT_ID,
  DEAD_TOKEN_ACCOUNT_ID,
  WHOLESALE_ACCOUNT_ID,
} from "../fixtures/tenants/ad-grants.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const HEADER =
  "impressions,clicks,spend,reach,frequency,cpc,cpm,ctr,actions.link_click,actions.page_engagement,actions.post_engagement,date_start,date_stop,other_actions";

const UNKNOWN_CLIENT = "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21";

interface ExportInput {
  client: string;
  account: string;
  out: string;
  options?: readonly string[];
}

const exportWords = ({ client, account, out, options = [] }: ExportInput) => [
  ...["insights", "export", "--json", "--client", client, "--ad-account", account],
  ...["--date-preset", "last_7d", "--out", out, ...options],
];

/** The sum of a column that has no quoted cells. */
function sumOf(file: string, column: string): number {
  const [header = "", ...lines] = readFileSync(file, "utf8").trimEnd().split("\r\n");
  const index = header.split(",").indexOf(column);
  return lines.reduce((sum, line) => sum + Number(line.split(",")[index]), 0);
}

t.test("herald insights export", async (t) => {
  const sandbox = await startSandbox(t);
  const settings = await testSettings(t, { SANDBOX_PORT: new URL(sandbox.origin).port });
  const api = await startApi(t, { config: readConfig(settings) });
  const { arm, clearFaults } = createFaultControls(sandbox);
  const herald = createCommandRunner(t, settings);
  const exportInsights = (input: ExportInput) => herald(exportWords(input));

  /** A client with an active account of the sandbox. */
  const makeAdvertiser = async (accountId: string, status = "active") => {
    const tenant = await makeTenant(api);
    const token = issueAdToken([accountId]);
    const { adAccountId } = await grantAdAccount(api, tenant, { accountId, token, status });
    return { client: tenant.id, account: adAccountId, token };
  };
  const receivedCount = async () =>
    (await callSandbox(`${sandbox.origin}/_sandbox/requests`)).body.data.length as number;

  t.test("writes all rows, which add up to the platform's totals, and replaces an older file", async (t) => {
    const { client, account, token } = await makeAdvertiser(COFFEE_ACCOUNT_ID);
    const folder = t.testdir({ "insights.csv": "old" });
    const out = join(folder, "insights.csv");
    const { code, json, err } = await exportInsights({
      ...{ client, account, out },
      options: ["--time-increment", "1"],
    });
    t.equal(code, 0, err);
    t.same(json, { rows: 7 });
    t.equal(readFileSync(out, "utf8").split("\r\n")[0], HEADER);
    t.same(readdirSync(folder), ["insights.csv"], "no temporary file is left");
    t.equal(statSync(out).mode & 0o777, 0o600);
    const query = { fields: "impressions,clicks,actions", date_preset: "last_7d" };
    const { body } = await callSandbox(`${sandbox.base}/${account}/insights`, { token, query });
    const [totals] = body.data;
    t.equal(sumOf(out, "impressions"), Number(totals.impressions));
    t.equal(sumOf(out, "clicks"), Number(totals.clicks));
    const linkClicks = totals.actions.find(
      ({ action_type }: { action_type: string }) => action_type === "link_click",
    );
    t.equal(sumOf(out, "actions.link_click"), Number(linkClicks.value));
  });

  t.test("exports an account without campaigns", async (t) => {
    const { client, account } = await makeAdvertiser(WHOLESALE_ACCOUNT_ID);
    const out = join(t.testdir({}), "insights.csv");
    const { code, json, err } = await exportInsights({ client, account, out });
    t.equal(code, 0, err);
    t.same(json, { rows: 1 });
    t.equal(readFileSync(out, "utf8").split("\r\n").length, 3, "a header, a row and the end of the file");
  });

  t.test("checks client, account and file before it calls the platform", async (t) => {
    const { client, account } = await makeAdvertiser(COFFEE_ACCOUNT_ID);
    const other = await makeAdvertiser(WHOLESALE_ACCOUNT_ID);
    const disabled = await makeAdvertiser(COFFEE_ACCOUNT_ID, "disabled");
    const revoked = await makeAdvertiser(COFFEE_ACCOUNT_ID, "revoked");
    const folder = t.testdir({ old: "old", folder: {}, link: t.fixture("symlink", "old") });
    const out = join(folder, "old");
    const WRONG: [RegExp, ExportInput][] = [
      [/there is no client 6f1d/, { client: UNKNOWN_CLIENT, account, out }],
      [/the client has no ad account act_/, { client: other.client, account, out }],
      [/act_\d+ is disabled: the client must activate it/, { ...disabled, out }],
      [/no longer accepts the token of act_\d+/, { ...revoked, out }],
      [/the folder \S+none does not exist/, { client, account, out: join(folder, "none", "x.csv") }],
      [/the folder \S+old does not exist/, { client, account, out: join(out, "x.csv") }],
      [/folder exists and is not a regular file/, { client, account, out: join(folder, "folder") }],
      [/link exists and is not a regular file/, { client, account, out: join(folder, "link") }],
    ];
    const before = await receivedCount();
    for (const [message, input] of WRONG) {
      const { code, out: printed, err } = await exportInsights(input);
      t.equal(code, 1, err);
      t.match(err, message);
      t.equal(printed, "");
    }
    t.equal(await receivedCount(), before);
    t.equal(readFileSync(out, "utf8"), "old");
    t.same(readdirSync(folder).sort(), ["folder", "link", "old"]);
  });

  t.test("rejects invalid options with exit code 2", async (t) => {
    const valid = { client: UNKNOWN_CLIENT, account: "act_1", out: "x.csv" };
    const WRONG: [RegExp, ExportInput][] = [
      [/--ad-account must be act_ and digits/, { ...valid, account: "1600000000000101" }],
      [/--date-preset must be one of today/, { ...valid, options: ["--date-preset", "lifetime"] }],
      [/--out must name a file/, { ...valid, out: "folder/" }],
      ...["0", "91", "1.5", "weekly"].map((period): [RegExp, ExportInput] => [
        /--time-increment must be 1 to 90, monthly or all_days/,
        { ...valid, options: ["--time-increment", period] },
      ]),
    ];
    for (const [message, input] of WRONG) t.match(await exportInsights(input), { code: 2, err: message });
  });

  t.test("a dead token revokes the connection and names the platform's code", async (t) => {
    const { client, account } = await makeAdvertiser(DEAD_TOKEN_ACCOUNT_ID);
    const folder = t.testdir({ "insights.csv": "old" });
    const result = await exportInsights({ client, account, out: join(folder, "insights.csv") });
    t.match(result, { code: 1, err: /\(code 190\)/ });
    const rows = await api.db.query("select status from ad_accounts where client_id = $1", [client]);
    t.match(rows, [{ status: "revoked" }]);
    t.same(readdirSync(folder), ["insights.csv"]);
    t.equal(readFileSync(join(folder, "insights.csv"), "utf8"), "old");
  });

  t.test("an interrupted export leaves no file", async (t) => {
    const { client, account } = await makeAdvertiser(COFFEE_ACCOUNT_ID);
    const folder = t.testdir({});
    await arm({ match: { method: "POST" }, kind: "delay", ms: 60_000 });
    const args = exportWords({ client, account, out: join(folder, "insights.csv") });
    const before = await receivedCount();
    const running = startProcess(t, "herald", settings, { args });
    await until("the export has begun", async () => {
      if (running.child.exitCode !== null) throw new Error(running.stderr());
      return (await receivedCount()) > before && readdirSync(folder).length === 1;
    });
    t.match(readdirSync(folder), [/^\.insights\.csv\.\w+\.tmp$/]);
    t.equal(await running.stop("SIGINT"), 130);
    t.same(readdirSync(folder), []);
    await clearFaults();
  });
});

interface ScriptedReport {
  /** The answers to reads of the run, in this order; the last one is repeated. A number is an error code. */
  runs: readonly (object | number)[];
  /** The answer to every read of the rows. */
  rows?: object;
}

const COMPLETED = { async_status: "Job Completed", async_percent_completion: 100 };

/** Exports a report of a platform with scripted answers; `reportId` tells reports at the same platform apart. */
async function startScriptedExports(t: Test) {
  const platform = await startScriptedAdPlatform(t);
  const settings = await testSettings(t, { AD_PLATFORM_URL: platform.base });
  const api = await startApi(t, { config: readConfig(settings) });
  const herald = createCommandRunner(t, settings);
  const reports = new Map<string, ScriptedReport & { isStarted: boolean }>();
  platform.setAnswer("insights", ({ token }: { token: string }) => {
    const report = reports.get(token);
    if (report?.isStarted) return report.rows;
    Object.assign(report ?? {}, { isStarted: true });
    return { report_run_id: token };
  });
  return async (t: Test, reportId: string, { runs, rows = { data: [] } }: ScriptedReport) => {
    reports.set(reportId, { runs, rows, isStarted: false });
    let reads = 0;
    platform.setAnswer(reportId, () => {
      const run = runs[Math.min(reads++, runs.length - 1)];
      return typeof run === "object" ? { id: reportId, account_id: reportId, ...run } : run;
    });
    const tenant = await makeTenant(api);
    const { adAccountId } = await grantAdAccount(api, tenant, { accountId: reportId, token: reportId });
    const folder = t.testdir({ "insights.csv": "old" });
    const out = join(folder, "insights.csv");
    const result = await herald(exportWords({ client: tenant.id, account: adAccountId, out }));
    return { ...result, reads, files: readdirSync(folder), text: readFileSync(out, "utf8") };
  };
}

t.test("an export of a report with scripted answers", { jobs: 4 }, async (t) => {
  const exportReport = await startScriptedExports(t);

  t.test("names the code and message of a failed report, and keeps the old file", async (t) => {
    const failed = { async_status: "Job Failed", error_code: 100, error_message: "Too much data" };
    const result = await exportReport(t, "11", { runs: [failed] });
    t.equal(result.code, 1);
    t.equal(result.err, "herald: the platform failed the report: Too much data (code 100)\n");
    t.match(result, { text: "old", files: ["insights.csv"] });
  });

  t.test("writes a header when the report has no rows", async (t) => {
    const { json, text } = await exportReport(t, "12", { runs: [COMPLETED] });
    t.same(json, { rows: 0 });
    t.equal(
      text,
      "impressions,clicks,spend,reach,frequency,cpc,cpm,ctr,date_start,date_stop,other_actions\r\n",
    );
  });

  t.test("keeps the old file when the list of rows does not end", async (t) => {
    const rows = { data: [{ clicks: "1" }], paging: { cursors: { after: "c" }, next: "https://x.example/" } };
    const result = await exportReport(t, "13", { runs: [COMPLETED], rows });
    t.match(result, { code: 1, err: /does not end/, text: "old", files: ["insights.csv"] });
  });

  t.test("waits while the platform has a temporary error", async (t) => {
    const attempts = [2, 2, 2]; // one read with its retries
    const { code, reads, err } = await exportReport(t, "14", { runs: [...attempts, COMPLETED] });
    t.equal(code, 0, err);
    t.equal(reads, 4);
  });
});
