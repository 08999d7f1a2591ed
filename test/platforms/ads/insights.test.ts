import t from "tap";
import { isTooMuchData } from "../../../src/platforms/ads/insights.ts";
import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { startBackend } from "../../fixtures/events/backends.ts";
import { failedAs } from "../../fixtures/platforms/failures.ts";
import { connectPlatforms, DEMO_AD_ACCESS, startPlatforms } from "../../fixtures/platforms/platforms.ts";
import { issueAdToken } from "../../fixtures/sandbox/ad-platform.ts";
import { allocateRedisDatabase } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const WEEK = { timeRange: { since: "2026-09-01", until: "2026-09-07" }, timeIncrement: "1" };

t.test("insights rows are returned unchanged, page by page", async (t) => {
  const { platforms } = await startPlatforms(t);
  const { insights } = platforms.ads;
  const first = await insights.rows(DEMO_AD_ACCESS, WEEK, { limit: 3 });
  t.equal(first.items.length, 3);
  t.ok(first.hasMore);
  t.match(first.items[0], { impressions: /^\d+$/, spend: /^\d+\.\d+$/, date_start: "2026-09-01" });
  const second = await insights.rows(DEMO_AD_ACCESS, WEEK, { limit: 3, after: first.after ?? "" });
  const third = await insights.rows(DEMO_AD_ACCESS, WEEK, { limit: 3, after: second.after ?? "" });
  t.equal(third.items.length, 1);
  t.notOk(third.hasMore);
  t.same(
    (await insights.rows(DEMO_AD_ACCESS, WEEK, { limit: 3 })).items,
    first.items,
    "the same query returns the same rows",
  );
});

t.test("an insights query selects fields, dates, breakdowns, filters and sorting", async (t) => {
  const context = await startPlatforms(t);
  const { insights } = context.platforms.ads;
  const { items } = await insights.rows(DEMO_AD_ACCESS, {
    fields: ["impressions", "spend"],
    datePreset: "last_7d",
    breakdowns: ["gender"],
    filtering: [{ field: "impressions", operator: "GREATER_THAN", value: 0 }],
    sort: ["impressions_descending"],
  });
  t.ok(items.length > 0);
  t.match((await context.receivedCalls()).at(-1)?.query, {
    fields: "impressions,spend",
    date_preset: "last_7d",
    breakdowns: "gender",
    filtering: '[{"field":"impressions","operator":"GREATER_THAN","value":0}]',
    sort: '["impressions_descending"]',
  });
  await t.rejects(insights.rows(DEMO_AD_ACCESS, { datePreset: "lifetime" }), failedAs("invalid"));
});

t.test("a report runs to completion and its rows can be read", async (t) => {
  const { platforms } = await startPlatforms(t);
  const { insights } = platforms.ads;
  const id = await insights.startReport(DEMO_AD_ACCESS, WEEK);
  t.match(await insights.readReport(DEMO_AD_ACCESS, id), {
    report_run_id: id,
    async_percent_completion: Number,
  });
  const done = await until("the report is complete", async () => {
    const run = await insights.readReport(DEMO_AD_ACCESS, id);
    return run.async_status === "Job Completed" ? run : undefined;
  });
  t.match(done, { async_percent_completion: 100 });
  t.notOk("error_code" in done);
  t.equal((await insights.reportRows(DEMO_AD_ACCESS, id, { limit: 500 })).items.length, 7);
});

t.test("a failed or skipped report is reported as failed, with a reason", async (t) => {
  const { platforms } = await startPlatforms(t);
  const { objects, insights } = platforms.ads;
  for (const name of ["fail report", "skip report"]) {
    const campaign = { name, objective: "OUTCOME_TRAFFIC" };
    const { id: objectId } = await objects.create(DEMO_AD_ACCESS, "campaigns", { fields: campaign });
    const id = await insights.startReport(DEMO_AD_ACCESS, { ...WEEK, objectId });
    const run = await until(`${name} has ended`, async () => {
      const found = await insights.readReport(DEMO_AD_ACCESS, id);
      return found.async_status === "Job Failed" ? found : undefined;
    });
    t.match(run, { error_message: String }, name);
  }
});

t.test("a report run that does not exist or belongs to another account is not found", async (t) => {
  const context = await startPlatforms(t);
  const { insights } = context.platforms.ads;
  const notFound = failedAs("missing");
  const token = issueAdToken(["1600000000000101", "1600000000000102"]);
  const theirs = await insights.startReport({ account: "act_1600000000000102", token }, WEEK);
  const other = await context.connectAnother(); // has no cached owner of the run
  for (const reports of [insights, other.ads.insights]) {
    await t.rejects(reports.readReport({ ...DEMO_AD_ACCESS, token }, theirs), notFound);
    await t.rejects(reports.reportRows({ ...DEMO_AD_ACCESS, token }, theirs), notFound);
  }
  await t.rejects(insights.readReport(DEMO_AD_ACCESS, "120999999999999999"), notFound);
  await t.rejects(insights.reportRows(DEMO_AD_ACCESS, "120999999999999999"), notFound);
});

t.test("several runs are read in one request, and each has its own result", async (t) => {
  const context = await startPlatforms(t, { pace: 1_000 });
  const { insights } = context.platforms.ads;
  const ids = [
    await insights.startReport(DEMO_AD_ACCESS, WEEK),
    await insights.startReport(DEMO_AD_ACCESS, WEEK),
  ];
  const [one, other, missing] = await insights.readReports(DEMO_AD_ACCESS, [...ids, "120000000000000001"]);
  t.match(
    [one, other],
    [{ report_run_id: ids[0] }, { report_run_id: ids[1], async_status: "Job Not Started" }],
  );
  t.match(missing, { name: "PlatformFailure", verdict: "missing" });
  t.match(context.lines.at(-1), { event: "platform.called", method: "POST", path: "/", calls: 3, done: 2 });
  await context.arm({ kind: "drop_before", times: 1, match: { path_prefix: `/${ids[0]}` } });
  t.match(await insights.readReports(DEMO_AD_ACCESS, ids), [
    { verdict: "timeout" },
    { report_run_id: ids[1] },
  ]);
  await context.arm({ kind: "throttle", times: 1, match: { path_prefix: `/${ids[0]}` } });
  t.match(await insights.readReports(DEMO_AD_ACCESS, ids), [
    { verdict: "throttled" },
    { report_run_id: ids[1] },
  ]);
  t.match(await insights.readReports(DEMO_AD_ACCESS, ids), [{ verdict: "paused" }, { verdict: "paused" }]);
});

t.test("a platform that does not accept batches gets the calls one by one", async (t) => {
  const paths: string[] = [];
  const { url } = await startBackend(t, (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    paths.push(`${request.method} ${pathname}`);
    response.statusCode = request.method === "POST" ? 404 : 200;
    response.end(
      request.method === "POST"
        ? '{"error":{"code":2500,"message":"Unknown path components"}}'
        : '{"account_id":"1","async_status":"Job Running","async_percent_completion":40}',
    );
  });
  const settings = { AD_PLATFORM_URL: new URL("/v26.0", url).href, REDIS_URL: await allocateRedisDatabase() };
  const { ads } = await connectPlatforms(t, settings, { log: captureLog().log });
  t.match(await ads.insights.readReports({ account: "act_1", token: "t" }, ["11", "12"]), [
    { report_run_id: "11", async_status: "Job Running" },
    { report_run_id: "12", async_status: "Job Running" },
  ]);
  t.same(paths, ["POST /", "GET /v26.0/11", "GET /v26.0/12"]);
});

t.test("an error that means too much data is recognised by code or text", async (t) => {
  const failure = (code: number, message: string, subcode?: number) =>
    new PlatformFailure("invalid", message, {
      platformError: { code, message, transient: false, fields: [], ...(subcode ? { subcode } : {}) },
    });
  for (const error of [
    failure(100, "Invalid parameter", 1487534),
    failure(1487534, "Too much data"),
    failure(1, "Please reduce the amount of data you're asking for, then retry your request"),
  ])
    t.ok(isTooMuchData(error), error.message);
  for (const error of [
    failure(1, "An unknown error occurred"),
    failure(100, "Invalid parameter"),
    new Error("x"),
  ])
    t.notOk(isTooMuchData(error), error.message);
});
