import t, { type Test } from "tap";
import { MAX_CALLS_PER_BATCH } from "../../../src/platforms/client/client.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import { createSecretBox } from "../../../src/security/secret-box.ts";
import { insertReport } from "../../../src/store/ads/insights-reports.ts";
import { followReports } from "../../../workers/scheduler/follow-reports.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { connectPlatforms } from "../../fixtures/platforms/platforms.ts";
import { readClientEvents } from "../../fixtures/platforms/webhooks.ts";
import { recordWork } from "../../fixtures/recorded-work.ts";
import type { SandboxOptions } from "../../fixtures/sandbox/sandbox.ts";
import { allocateRedisDatabase } from "../../fixtures/servers/servers.ts";
import {
  COFFEE_ACCOUNT_ID,
  startAdsContext,
  WHOLESALE_ACCOUNT_ID,
} from "../../fixtures/tenants/ad-grants.ts";
import { type ActiveAdvertiser, makeActiveAdvertiser } from "../../fixtures/tenants/ad-objects.ts";
import {
  clearRequests,
  readStatus,
  receivedRequests,
  startReport,
  untilEnded,
} from "../../fixtures/tenants/insights-reports.ts";
import { until } from "../../fixtures/until.ts";

/** A sandbox, an API and the scheduler's job, one tick per call. */
async function startFollowing(t: Test, options: SandboxOptions = {}) {
  const context = await startAdsContext(t, options);
  const { api, sandbox } = context;
  const { log, lines } = captureLog();
  const settings = { REDIS_URL: await allocateRedisDatabase(), SANDBOX_PORT: new URL(sandbox.origin).port };
  const { ads } = await connectPlatforms(t, settings, { log, isBackground: true });
  const secretBox = createSecretBox(api.config.ENCRYPTION_KEYS);
  const { tracker, calls: trackerCalls } = recordWork();
  const follow = (signal = new AbortController().signal) =>
    followReports({ db: api.db, secretBox, ads, log, tracker }, { signal });
  const readRows = () =>
    api.db.query<Record<string, unknown>>(
      `select id, run, deaths, finished_at, next_check_at
      from insights_reports
      order by created_at, id`,
    );
  const update = (assignments: string) => api.db.query(`update insights_reports set ${assignments}`);
  return { ...context, lines, trackerCalls, follow, readRows, update };
}

type Following = Awaited<ReturnType<typeof startFollowing>>;

/** A running report is due after a fifth of its age, which grows while the test runs. */
const MAX_DELAY_MS = 10 * SECOND;

/** True when the report is due this many seconds after a check that began after `since`. */
function isDueIn({ next_check_at }: Record<string, unknown>, seconds: number, since: number): boolean {
  const dueAt = (next_check_at as Date).getTime();
  return dueAt - since >= seconds * SECOND && dueAt - Date.now() <= seconds * SECOND + MAX_DELAY_MS;
}

const NO_COUNTS = { checked: 0, failed: 0, throttled: 0, expired: 0, quarantined: 0, left: 0 };

const announced = async ({ api }: Following, { id }: ActiveAdvertiser) =>
  (await readClientEvents(api, id))
    .filter(({ type }) => type.startsWith("insights."))
    .map(({ type, payload }) => [type, payload.data.report_run_id]);

t.test("reports that have ended are announced once, with one request per account", async (t) => {
  const context = await startFollowing(t);
  t.same(await context.follow(), NO_COUNTS);
  const one = await makeActiveAdvertiser(context);
  const other = await makeActiveAdvertiser(context, { account: WHOLESALE_ACCOUNT_ID });
  const { body: failing } = await one.create("campaigns", { name: "fail report" });
  const { body: skipped } = await one.create("campaigns", { name: "skip report" });
  const reports = [
    await startReport(one),
    await startReport(one, { object_id: failing.id }),
    await startReport(one, { object_id: skipped.id }),
  ];
  const single = await startReport(other);
  for (const id of reports) await untilEnded(context, id);
  await untilEnded(context, single, WHOLESALE_ACCOUNT_ID);
  await clearRequests(context);
  t.same(await context.follow(), { ...NO_COUNTS, checked: 4 });
  t.same(
    (await receivedRequests(context)).sort(),
    [...[...reports, single].map((id) => `GET /${id}`), "POST /"].sort(),
    "several reports of an account are read in one batch",
  );
  t.same((await announced(context, one)).sort(), [
    ["insights.report.completed", reports[0]],
    ["insights.report.failed", reports[1]],
    ["insights.report.failed", reports[2]],
  ]);
  t.same(await announced(context, other), [["insights.report.completed", single]]);
  t.ok(context.trackerCalls.includes(`begin reports of ${one.adAccountId} client ${one.id}`));
  await context.update("next_check_at = now()");
  t.same(await context.follow(), NO_COUNTS, "reports that have ended are not checked again");
  t.equal((await announced(context, one)).length, 3);
});

t.test("running reports are checked less often as they age, and are never restarted", async (t) => {
  const context = await startFollowing(t, { pace: 1_000 });
  const advertiser = await makeActiveAdvertiser(context);
  await startReport(advertiser);
  await clearRequests(context);
  for (const [age, seconds] of [
    ["0 seconds", 20],
    ["5 minutes", 60],
    ["1 hour", 720],
    ["10 days", 900],
  ] as const) {
    await context.update(`created_at = now() - interval '${age}', next_check_at = now()`);
    const since = Date.now();
    t.same(await context.follow(), { ...NO_COUNTS, checked: 1 });
    const [row = {}] = await context.readRows();
    t.ok(isDueIn(row, seconds, since), `after ${age}: ${row.next_check_at}`);
    t.match(row, { deaths: 0, finished_at: null, run: { async_status: "Job Not Started" } });
    t.same(await context.follow(), NO_COUNTS, "it is not due");
  }
  t.ok((await receivedRequests(context)).every((request) => request.startsWith("GET ")));
});

t.test("a throttled account waits, and another account does not", async (t) => {
  const context = await startFollowing(t);
  const one = await makeActiveAdvertiser(context);
  const other = await makeActiveAdvertiser(context, { account: WHOLESALE_ACCOUNT_ID });
  const throttled = [await startReport(one), await startReport(one)];
  const single = await startReport(other);
  await untilEnded(context, single, WHOLESALE_ACCOUNT_ID);
  for (const id of throttled) await untilEnded(context, id);
  await context.arm({ kind: "error", code: 80000, times: 2, match: { path_prefix: `/${throttled[0]}` } });
  await context.arm({ kind: "error", code: 80000, times: 2, match: { path_prefix: `/${throttled[1]}` } });
  const since = Date.now();
  t.same(await context.follow(), { ...NO_COUNTS, checked: 1, throttled: 2 });
  t.same(await announced(context, one), []);
  t.equal((await announced(context, other)).length, 1);
  for (const row of (await context.readRows()).filter(({ id }) => id !== single))
    t.ok(isDueIn(row, 60, since), "the platform's wait");
  await clearRequests(context);
  t.same(await context.follow(), NO_COUNTS);
  await context.update("next_check_at = now()");
  t.same(await context.follow(), { ...NO_COUNTS, throttled: 2 }, "the account is paused");
  t.same(await receivedRequests(context), [], "the platform is not called");
});

t.test("a throttled app or an unavailable platform stops the run, and all reports stay due", async (t) => {
  const context = await startFollowing(t);
  const advertiser = await makeActiveAdvertiser(context);
  const id = await startReport(advertiser);
  await untilEnded(context, id);
  await context.arm({ kind: "error", code: 368, times: 1, match: { path_prefix: `/${id}` } });
  const since = Date.now();
  t.same(await context.follow(), { ...NO_COUNTS, failed: 1 });
  t.match(
    context.lines.filter(({ event }) => event === "insights_report.check_failed"),
    [{ client: advertiser.id, ad_account: advertiser.adAccountId, reports: 1, verdict: "policy" }],
  );
  const [postponed = {}] = await context.readRows();
  t.match(postponed, { deaths: 0 });
  t.ok(isDueIn(postponed, 20, since));
  await context.update("next_check_at = now()");
  await context.arm({ kind: "error", code: 4, times: 1, match: { path_prefix: `/${id}` } });
  await t.rejects(context.follow(), { name: "JobError", counts: { checked: 0, throttled: 1, left: 1 } });
  t.match(await context.readRows(), [{ deaths: 0, finished_at: null }]);
});

t.test("a dead token revokes the account, whose reports wait for a new token", async (t) => {
  const context = await startFollowing(t);
  const advertiser = await makeActiveAdvertiser(context);
  const id = await startReport(advertiser);
  await untilEnded(context, id);
  await context.arm({ kind: "dead_token", times: 1, match: { path_prefix: `/${id}` } });
  t.same(await context.follow(), { ...NO_COUNTS, failed: 1 });
  t.match(await advertiser.call("GET", `/ad-accounts/${advertiser.accountId}`), {
    body: { status: "revoked" },
  });
  t.same(await context.follow(), NO_COUNTS);
  t.match(await readStatus(advertiser, id), { status: 409, body: { error: "ad_account_revoked" } });
  await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
  await advertiser.call("PATCH", `/ad-accounts/${advertiser.accountId}`, { status: "active" });
  await context.update("next_check_at = now()");
  t.same(await context.follow(), { ...NO_COUNTS, checked: 1 });
  t.same(await announced(context, advertiser), [["insights.report.completed", id]]);
});

t.test("a token that cannot be decrypted does not stop the reports of other accounts", async (t) => {
  const context = await startFollowing(t);
  const broken = await makeActiveAdvertiser(context);
  const other = await makeActiveAdvertiser(context, { account: WHOLESALE_ACCOUNT_ID });
  await startReport(broken);
  const id = await startReport(other);
  await untilEnded(context, id, WHOLESALE_ACCOUNT_ID);
  await context.api.db.query("update ad_connections set token_sealed = 'x' where client_id = $1", [
    broken.id,
  ]);
  t.same(await context.follow(), { ...NO_COUNTS, checked: 1, failed: 1 });
  t.same(await announced(context, other), [["insights.report.completed", id]]);
  t.match(
    context.lines.filter(({ event }) => event === "insights_report.check_failed"),
    [{ client: broken.id, reports: 1, err: /encryption key/ }],
  );
  t.same(await context.follow(), NO_COUNTS, "it is due again later");
});

t.test("a report that the platform has lost fails, unless the token has lost the account", async (t) => {
  const context = await startFollowing(t, { pace: 1_000 });
  const advertiser = await makeActiveAdvertiser(context);
  const id = await startReport(advertiser);
  const lost = { kind: "error", code: 100, subcode: 33, times: 1 } as const;
  await context.arm({ ...lost, match: { path_prefix: `/${id}` } });
  await context.arm({ ...lost, match: { path_prefix: `/${advertiser.adAccountId}` } });
  t.same(await context.follow(), { ...NO_COUNTS, failed: 1 });
  t.same(await announced(context, advertiser), []);
  await context.update("next_check_at = now()");
  await context.arm({ ...lost, match: { path_prefix: `/${id}` } });
  t.same(await context.follow(), { ...NO_COUNTS, checked: 1 });
  t.same(await announced(context, advertiser), [["insights.report.failed", id]]);
});

t.test("a report that has not ended after 30 days fails, whatever its account", async (t) => {
  const context = await startFollowing(t, { pace: 1_000 });
  const advertiser = await makeActiveAdvertiser(context);
  const id = await startReport(advertiser);
  await advertiser.call("PATCH", `/ad-accounts/${advertiser.accountId}`, { status: "disabled" });
  t.same(await context.follow(), NO_COUNTS, "reports of accounts that are not active wait");
  await context.update("created_at = now() - interval '31 days'");
  t.same(await context.follow(), { ...NO_COUNTS, expired: 1 });
  t.match((await readClientEvents(context.api, advertiser.id)).at(-1), {
    type: "insights.report.failed",
    payload: { data: { report_run_id: id, async_status: "Job Failed", error_message: /start it again/ } },
  });
  t.same(await context.follow(), NO_COUNTS);
});

t.test("a report whose checks did not end is checked alone and after three of them not at all", async (t) => {
  const context = await startFollowing(t);
  const advertiser = await makeActiveAdvertiser(context);
  const reports = [await startReport(advertiser), await startReport(advertiser)];
  for (const id of reports) await untilEnded(context, id);
  await context.update("deaths = 1");
  await clearRequests(context);
  t.same(await context.follow(), { ...NO_COUNTS, checked: 2 });
  t.same(
    (await receivedRequests(context)).sort(),
    reports.map((id) => `GET /${id}`).sort(),
    "without a batch",
  );
  const killing = await startReport(advertiser);
  await context.api.db.query("update insights_reports set deaths = 3 where id = $1", [killing]);
  await clearRequests(context);
  for (const run of [1, 2]) t.same(await context.follow(), { ...NO_COUNTS, quarantined: 1 }, `run ${run}`);
  t.same(await receivedRequests(context), []);
  t.match(
    context.lines.filter(({ event }) => event === "insights_report.quarantined"),
    [{ level: "error", client: advertiser.id, report: killing, deaths: 3 }],
    "logged once",
  );
  await context.update("deaths = 0");
  await untilEnded(context, killing);
  t.same(await context.follow(), { ...NO_COUNTS, checked: 1 }, "an operator makes it checked again");
});

t.test("accounts take turns, and a stopped run leaves its reports due and without deaths", async (t) => {
  const context = await startFollowing(t);
  const one = await makeActiveAdvertiser(context);
  const other = await makeActiveAdvertiser(context, { account: WHOLESALE_ACCOUNT_ID });
  const report = { adAccountId: one.adAccountId, fields: [], breakdowns: [], run: {} };
  for (let count = 0; count <= MAX_CALLS_PER_BATCH; count++)
    await insertReport(context.api.db, one.id, { id: `9${count}`, ...report });
  await startReport(other);
  await context.arm({ kind: "delay", ms: 120_000, times: 1_000, match: { method: "GET" } });
  const stop = new AbortController();
  const running = context.follow(stop.signal);
  const begun = () => context.trackerCalls.filter((call) => call.startsWith("begin reports"));
  await until("all batches are in flight", () => begun().length === 3);
  t.same(
    begun().map((label) => label.includes(other.adAccountId)),
    [false, true, false],
  );
  t.same(
    (await context.readRows()).filter(({ deaths }) => deaths !== 1),
    [],
    "each counts a begun check",
  );
  stop.abort(new Error("the process ends"));
  await t.rejects(running, { message: "the process ends" });
  const rows = await context.readRows();
  t.ok(rows.every(({ deaths, next_check_at }) => deaths === 0 && (next_check_at as Date) < new Date()));
});
