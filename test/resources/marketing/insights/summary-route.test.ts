import t from "tap";
import { daysOf, plusDays, todayIn } from "../../../../src/runtime/days.ts";
import { SUMMARY_PRESETS } from "../../../../src/schema/ad-enumerations.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { startScriptedAdPlatform } from "../../../fixtures/platforms/scripted-ad-platform.ts";
import { grantAdAccount } from "../../../fixtures/tenants/ad-accounts.ts";
import { AD_ACCOUNT_IDS, startAdsContext } from "../../../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser } from "../../../fixtures/tenants/ad-objects.ts";
import { clearRequests, receivedRequests } from "../../../fixtures/tenants/insights-reports.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";

const METRICS = ["impressions", "clicks", "spend", "reach", "ctr", "cpc", "cpm"];
const sum = (values: readonly string[]) => values.reduce((total, value) => total + Number(value), 0);

t.test("insights summary", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);
  const read = (preset: string) => advertiser.read(`/insights/summary?date_preset=${preset}`);
  const query = async (since: string, until: string) =>
    (await advertiser.read(`/insights?fields=${METRICS}&since=${since}&until=${until}`)).body.data[0];

  t.test("totals, previous totals and days equal those of the platform's queries", async (t) => {
    const dayBefore = todayIn("America/Sao_Paulo");
    const { status, body } = await read("last_7d");
    t.equal(status, 200);
    const today = plusDays(body.until, 1);
    t.ok([dayBefore, todayIn("America/Sao_Paulo")].includes(today), "the day may have changed meanwhile");
    t.match(body, { currency: "BRL", since: plusDays(today, -7) });
    const { date_start, date_stop, ...totals } = await query(body.since, body.until);
    t.same(body.totals, totals);
    const {
      date_start: _,
      date_stop: __,
      ...previous
    } = await query(plusDays(today, -14), plusDays(today, -8));
    t.same(body.previous, previous);
    for (const metric of METRICS)
      t.equal(
        body.change[metric],
        Math.round((totals[metric] / previous[metric] - 1) * 1e6) / 1e6,
        `change of ${metric}`,
      );
    t.same(
      body.by_day.map(({ date }: { date: string }) => date),
      daysOf(body),
    );
    t.equal(sum(body.by_day.map(({ spend }: { spend: string }) => spend)).toFixed(2), totals.spend);
    t.same(Object.keys(body.by_day[0]), ["date", "impressions", "clicks", "spend"]);
  });

  t.test("every preset has two periods of equal length", async (t) => {
    for (const preset of SUMMARY_PRESETS) {
      const { status, body } = await read(preset);
      t.equal(status, 200, preset);
      t.equal(body.by_day.length, daysOf(body).length);
      t.not(body.previous.impressions, "0");
    }
    const { since, until } = (await read("last_month")).body;
    t.match([since, until.slice(0, 7)], [/-01$/, since.slice(0, 7)]);
  });

  t.test("a summary takes two queries and is cached", async (t) => {
    const other = await makeActiveAdvertiser(context);
    await clearRequests(context);
    const path = "/insights/summary?date_preset=last_28d";
    const [first, second] = await Promise.all([other.read(path), other.read(path)]);
    t.same(first.body, second.body);
    t.same((await other.read(path)).body, first.body);
    const edge = `GET /${other.adAccountId}/insights`;
    t.same(await receivedRequests(context), [edge, edge]);
    await other.call("PATCH", `/ad-accounts/${other.accountId}`, { status: "disabled" });
    t.match(await other.read(path), { status: 409 }, "the account is checked first");
  });

  t.test("an error is not cached", async (t) => {
    const other = await makeActiveAdvertiser(context);
    await context.arm({
      kind: "error",
      code: 100,
      times: 2,
      match: { path_prefix: `/${other.adAccountId}/insights` },
    });
    const path = "/insights/summary?date_preset=yesterday";
    t.match(await other.read(path), { status: 400, body: { error: "platform_invalid_request" } });
    await context.clearFaults();
    t.match(await other.read(path), { status: 200 });
  });

  t.test("other presets and other clients' accounts are refused", async (t) => {
    for (const preset of ["today", "lifetime", ""])
      t.match(await read(preset), { status: 400, body: { details: [{ path: "/date_preset" }] } });
    t.match(await advertiser.read("/insights/summary"), { status: 400 });
    const foreign = `/insights/summary?date_preset=last_7d&ad_account_id=act_${AD_ACCOUNT_IDS[1]}`;
    t.match(await advertiser.call("GET", foreign), { status: 404, body: { error: "not_found" } });
  });
});

/** Answers with one row of ten clicks for each period or day, in pages of at most seven rows, whatever `limit` says. */
function answerInShortPages({ query }: { query: URLSearchParams }) {
  const [period, periods] = [query.get("time_range"), query.get("time_ranges")];
  const starts = period
    ? daysOf(JSON.parse(period))
    : JSON.parse(periods as string).map(({ since }: { since: string }) => since);
  const from = Number(query.get("after") ?? 0);
  const data = starts.slice(from, from + 7).map((date_start: string) => ({ date_start, clicks: "10" }));
  const after = String(from + data.length);
  const next = { next: "https://platform.example/next" };
  return { data, paging: { cursors: { after }, ...(from + data.length < starts.length ? next : {}) } };
}

t.test("the days of a summary are read to the last page", async (t) => {
  const platform = await startScriptedAdPlatform(t);
  platform.setAnswer("insights", answerInShortPages);
  const api = await startApi(t, { settings: { AD_PLATFORM_URL: platform.base } });
  const tenant = await makeTenant(api);
  const { headers } = await tenant.createKey("marketing:read");
  const { adAccountId } = await grantAdAccount(api, tenant);
  const path = `/api/marketing/insights/summary?ad_account_id=${adAccountId}&date_preset=last_90d`;
  const { status, body } = await api.call("GET", path, { headers });
  t.equal(status, 200);
  t.same(
    body.by_day.map(({ clicks }: { clicks: string }) => clicks),
    Array(90).fill("10"),
  );
});
