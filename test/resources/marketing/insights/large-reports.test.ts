import { execFile } from "node:child_process";
import { promisify } from "node:util";
import t from "tap";
import { readConfig } from "../../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../../src/store/database/database.ts";
import { startWeb } from "../../../fixtures/processes/processes.ts";
import { testSettings } from "../../../fixtures/processes/settings.ts";
import { issueAdToken } from "../../../fixtures/sandbox/ad-platform.ts";
import { startSandbox } from "../../../fixtures/sandbox/sandbox.ts";
import { grantAdAccount } from "../../../fixtures/tenants/ad-accounts.ts";
import { COFFEE_ACCOUNT_ID } from "../../../fixtures/tenants/ad-grants.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import { until } from "../../../fixtures/until.ts";

/** Days, ages, genders, countries and devices. */
const ROWS = 23 * 6 * 3 * 3 * 4;

/** Memory that is not collected yet grows by up to about 20 MB, so the bound shows gross leaks only. */
const MAX_GROWTH_MB = 50;

const LINES_PER_MEASUREMENT = 1_000;

t.test("a report of 4,968 rows is read with flat memory, page by page and as CSV", async (t) => {
  const sandbox = await startSandbox(t);
  const settings = await testSettings(t, {
    SANDBOX_PORT: new URL(sandbox.origin).port,
    RATE_LIMIT_PER_MINUTE: "0",
  });
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const tenant = await makeTenant({ db, config });
  const token = issueAdToken([COFFEE_ACCOUNT_ID]);
  const { adAccountId } = await grantAdAccount({ db, config }, tenant, {
    accountId: COFFEE_ACCOUNT_ID,
    token,
  });
  const { headers } = await tenant.createKey("marketing:read");
  const web = await startWeb(t, settings);
  const path = "/api/marketing/insights/reports";
  const json = {
    ad_account_id: adAccountId,
    since: "2026-01-01",
    until: "2026-01-23",
    time_increment: 1,
    breakdowns: "age,gender,country,impression_device",
  };
  const { body: run } = await web.call("POST", path, { headers, json });
  const results = `${path}/${run.report_run_id}/results`;
  await until(
    "the report has rows",
    async () => (await web.call("GET", results, { headers })).body.data.length > 0,
  );

  const rssMb = async () => {
    const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(web.child.pid)]);
    return Number(stdout) / 1_024;
  };
  const readPages = async (maxPages: number): Promise<number> => {
    let [rows, after] = [0, ""];
    for (let pages = 0; pages < maxPages; pages++) {
      const { body } = await web.call("GET", `${results}?limit=500${after}`, { headers });
      rows += body.data.length;
      if (!body.paging.has_more) break;
      after = `&after=${body.paging.cursors.after}`;
    }
    return rows;
  };
  await readPages(5); // the first pages also load code
  const before = await rssMb();
  t.equal(await readPages(1_000), ROWS);
  const afterPages = await rssMb();
  t.ok(
    afterPages - before < MAX_GROWTH_MB,
    `pages: ${Math.round(before)} MB, then ${Math.round(afterPages)} MB`,
  );

  const reply = await fetch(web.address + results, { headers: { ...headers, accept: "text/csv" } });
  let [lines, measuredLines, maxMb] = [0, 0, 0];
  for await (const chunk of reply.body as ReadableStream<Uint8Array>) {
    for (const byte of chunk) if (byte === 0x0a) lines += 1;
    if (lines - measuredLines < LINES_PER_MEASUREMENT) continue;
    measuredLines = lines;
    maxMb = Math.max(maxMb, await rssMb());
  }
  t.equal(lines, ROWS + 1);
  t.ok(maxMb - before < MAX_GROWTH_MB, `CSV: ${Math.round(before)} MB, then ${Math.round(maxMb)} MB`);
});
