import t from "tap";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  issueAdToken,
  startAdPlatform,
} from "../../fixtures/sandbox/ad-platform.ts";
import { until } from "../../fixtures/until.ts";

const INSIGHTS = `${AD_ACCOUNT_ID}/insights`;

const orderReport = async (
  ads: AdPlatform,
  form: Record<string, string> = {},
  path = INSIGHTS,
): Promise<string> => (await ads.post(path, form)).body.report_run_id;

const waitForReport = (ads: AdPlatform, id: string) =>
  until("the report has ended", async () => {
    const { body } = await ads.get(id);
    return /Completed|Failed|Skipped/.test(body.async_status) && body;
  });

t.test("a new report has no rows", async (t) => {
  const ads = await startAdPlatform(t, { pace: 1000 });
  const id = await orderReport(ads, { date_preset: "last_7d" });
  t.match(id, /^\d{18}$/);
  const report = (await ads.get(id)).body;
  t.match(report, { id, account_id: "1600000000000101", async_status: "Job Not Started", time_ref: Number });
  t.match(report, { async_percent_completion: 0, date_start: /^\d{4}-/, date_stop: /^\d{4}-/ });
  t.strictSame((await ads.get(`${id}/insights`)).body, { data: [] });
});

const STAGES = [
  "Job Not Started 0",
  "Job Started 0",
  "Job Running 40",
  "Job Running 100",
  "Job Completed 100",
];

t.test("a report passes through its stages in order", async (t) => {
  const ads = await startAdPlatform(t, { pace: 0.2 });
  const id = await orderReport(ads);
  const seen = new Set<string>();
  await until("the report is complete", async () => {
    const { async_status, async_percent_completion } = (await ads.get(id)).body;
    seen.add(`${async_status} ${async_percent_completion}`);
    return async_status === "Job Completed";
  });
  t.strictSame(
    [...seen],
    STAGES.filter((stage) => seen.has(stage)),
  );
  t.ok(seen.has("Job Completed 100"));
});

t.test("a report has the same rows as the equivalent call, page by page", async (t) => {
  const ads = await startAdPlatform(t);
  const query = { fields: "impressions,spend", date_preset: "last_14d", time_increment: "1" };
  const id = await orderReport(ads, query);
  t.match(await waitForReport(ads, id), { async_status: "Job Completed", async_percent_completion: 100 });
  const first = (await ads.get(`${id}/insights`, { limit: "10" })).body;
  t.equal(first.data.length, 10);
  const rest = (await ads.get(`${id}/insights`, { limit: "10", after: first.paging.cursors.after })).body;
  t.notOk("next" in rest.paging);
  t.strictSame([...first.data, ...rest.data], (await ads.get(INSIGHTS, query)).body.data);
});

t.test("a report has a higher row limit than a call", async (t) => {
  const ads = await startAdPlatform(t);
  const form = { breakdowns: "age,gender,country,device_platform", date_preset: "yesterday" };
  const id = await orderReport(ads, form);
  await waitForReport(ads, id);
  t.equal((await ads.get(`${id}/insights`, { limit: "500" })).body.data.length, 6 * 3 * 3 * 3);
});

t.test("a report on an object named `fail report` fails and gives the reason", async (t) => {
  const ads = await startAdPlatform(t);
  const campaign = await ads.create("campaigns", { name: "please fail report" });
  const id = await orderReport(ads, {}, `${campaign}/insights`);
  t.match(await waitForReport(ads, id), {
    async_status: "Job Failed",
    async_percent_completion: 100,
    error_code: Number,
    error_message: String,
    error_subcode: Number,
    error_user_title: String,
    error_user_msg: String,
  });
  t.strictSame((await ads.get(`${id}/insights`)).body, { data: [] });
  const { body } = await ads.get(id, { fields: "async_status,error_code" });
  t.strictSame(Object.keys(body).sort(), ["async_status", "error_code", "id"]);
});

t.test("a report on an object named `skip report` is skipped", async (t) => {
  const ads = await startAdPlatform(t);
  const campaign = await ads.create("campaigns", { name: "skip report" });
  const id = await orderReport(ads, {}, `${campaign}/insights`);
  t.match(await waitForReport(ads, id), { async_status: "Job Skipped" });
});

t.test("a report with invalid parameters is refused immediately", async (t) => {
  const ads = await startAdPlatform(t);
  const { status, body } = await ads.post(INSIGHTS, { date_preset: "lifetime" });
  t.equal(status, 400);
  t.match(body.error, { code: 100 });
});

t.test("an unknown report and a report of another account are reported as missing", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await orderReport(ads);
  for (const answer of [
    await ads.get("6023920149050"),
    await ads.get("6023920149050/insights"),
    await ads.get(id, {}, issueAdToken(["1600000000000102"])),
  ])
    t.match(answer.body.error, { code: 100, error_subcode: 33 });
});
