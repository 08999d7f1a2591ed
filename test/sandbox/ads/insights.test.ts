import t from "tap";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  issueAdToken,
  startAdPlatform,
  VALID_FORMS,
} from "../../fixtures/sandbox/ad-platform.ts";

const INSIGHTS = `${AD_ACCOUNT_ID}/insights`;
const METRICS = "impressions,clicks,spend,reach,frequency,cpc,cpm,ctr,actions";

/** Read once: the day may change while the tests run. */
const NOW = Date.now();
const dayBefore = (days: number) => new Date(NOW - days * 86_400_000).toISOString().slice(0, 10);
const range = (since: number, until: number) =>
  JSON.stringify({ since: dayBefore(since), until: dayBefore(until) });

async function readRows(ads: AdPlatform, query: Record<string, string>, path = INSIGHTS) {
  const { status, body } = await ads.get(path, { limit: "500", ...query });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data;
}

t.test(
  "an account's metrics are texts, have amounts in the major unit, and are the same at every call",
  async (t) => {
    const ads = await startAdPlatform(t);
    const { headers, body } = await ads.get(INSIGHTS, { fields: METRICS, time_range: range(9, 3) });
    t.equal(body.data.length, 1);
    const [row] = body.data;
    const { actions, date_start, date_stop, ...metrics } = row;
    t.strictSame([date_start, date_stop], [dayBefore(9), dayBefore(3)]);
    for (const [name, value] of Object.entries(metrics)) t.match(value, /^\d+(\.\d+)?$/, name);
    t.match(row.spend, /^\d+\.\d\d$/);
    t.equal(row.cpc, (Number(row.spend) / Number(row.clicks)).toFixed(6));
    t.equal(row.ctr, ((Number(row.clicks) * 100) / Number(row.impressions)).toFixed(6));
    t.equal(row.frequency, (Number(row.impressions) / Number(row.reach)).toFixed(6));
    t.match(actions[0], { action_type: "link_click", value: /^\d+$/ });
    t.ok(body.paging.cursors.after);
    t.notOk("next" in body.paging);
    t.match(headers.get("x-fb-ads-insights-throttle"), /acc_id_util_pct/);
    t.match(headers.get("x-business-use-case-usage"), /"ads_insights"/);
    t.strictSame(await readRows(ads, { fields: METRICS, time_range: range(9, 3) }), body.data);
  },
);

t.test("insights without fields have the default fields", async (t) => {
  const ads = await startAdPlatform(t);
  const [row] = await readRows(ads, {});
  t.strictSame(Object.keys(row), ["account_id", "impressions", "spend", "date_start", "date_stop"]);
});

t.test("the results of a row name what was counted", async (t) => {
  const ads = await startAdPlatform(t);
  const [row] = await readRows(ads, { fields: "inline_link_clicks,results,cost_per_result" });
  const windows = { attribution_windows: ["default"] };
  t.strictSame(row.results, [
    { indicator: "actions:link_click", values: [{ value: row.inline_link_clicks, ...windows }] },
  ]);
  t.match(row.cost_per_result, [{ indicator: "actions:link_click", values: [windows] }]);
});

t.test("the days of a range and its breakdowns add up to its total", async (t) => {
  const ads = await startAdPlatform(t);
  const total = (data: { impressions: string }[]) =>
    data.reduce((sum, { impressions }) => sum + Number(impressions), 0);
  const time_range = range(14, 5);
  const totalImpressions = total(await readRows(ads, { time_range }));
  const daily = await readRows(ads, { time_range, time_increment: "1" });
  t.equal(daily.length, 10);
  t.strictSame([daily[0].date_start, daily[0].date_stop], [dayBefore(14), dayBefore(14)]);
  t.equal(total(daily), totalImpressions);
  const byAge = await readRows(ads, { time_range, breakdowns: "age,gender" });
  t.equal(byAge.length, 18);
  t.match(byAge[0], { age: "18-24", gender: "female" });
  t.equal(total(byAge), totalImpressions);
});

t.test("an increment splits the range into periods, the last of which may be shorter", async (t) => {
  const ads = await startAdPlatform(t);
  const days = async (query: Record<string, string>) =>
    (await readRows(ads, query)).map(
      ({ date_start, date_stop }: Record<string, string>) => `${date_start} ${date_stop}`,
    );
  t.strictSame(await days({ time_range: range(10, 2), time_increment: "7" }), [
    `${dayBefore(10)} ${dayBefore(4)}`,
    `${dayBefore(3)} ${dayBefore(2)}`,
  ]);
  const year = Number(dayBefore(0).slice(0, 4)) - 1;
  const time_range = JSON.stringify({ since: `${year}-01-15`, until: `${year}-03-02` });
  t.strictSame(await days({ time_range, time_increment: "monthly" }), [
    `${year}-01-15 ${year}-01-31`,
    `${year}-02-01 ${year}-02-${new Date(Date.UTC(year, 2, 0)).getUTCDate()}`,
    `${year}-03-01 ${year}-03-02`,
  ]);
  t.equal((await days({ time_range, time_increment: "all_days" })).length, 1);
  t.equal((await days({ time_ranges: `[${range(9, 8)},${range(4, 3)}]` })).length, 2);
});

t.test("time_range wins over date_preset, and the default is the last 30 days", async (t) => {
  const ads = await startAdPlatform(t);
  const [row] = await readRows(ads, { time_range: range(5, 5), date_preset: "last_year" });
  t.equal(row.date_start, dayBefore(5));
  t.equal((await readRows(ads, { time_increment: "1" })).length, 30);
  t.strictSame(await readRows(ads, {}), await readRows(ads, { date_preset: "last_30d" }));
});

t.test("an invalid or outdated range and an invalid increment are refused", async (t) => {
  const ads = await startAdPlatform(t);
  const bad: [Record<string, string>, number][] = [
    [{ date_preset: "lifetime" }, 100],
    [{ time_range: "yesterday" }, 100],
    [{ time_range: '{"since":"2026-02-30","until":"2026-03-01"}' }, 100],
    [{ time_range: range(3, 9) }, 100],
    [{ time_ranges: "[null]" }, 100],
    [{ time_increment: "91" }, 100],
    [{ time_increment: "weekly" }, 100],
    [{ breakdowns: "shoe_size" }, 100],
    [{ breakdowns: "constructor" }, 100],
    [{ date_preset: "toString" }, 100],
    [{ level: "galaxy" }, 100],
    [{ time_range: range(1200, 3) }, 3018],
  ];
  for (const [query, code] of bad) {
    const { status, body } = await ads.get(INSIGHTS, query);
    t.equal(status, 400, JSON.stringify(query));
    t.match(body.error, { code });
  }
});

t.test("future days have no rows", async (t) => {
  const ads = await startAdPlatform(t);
  t.strictSame(await readRows(ads, { time_range: range(-5, -9) }), []);
  const nearFuture = await readRows(ads, { time_range: range(3, -9), time_increment: "1" });
  t.ok(nearFuture.length <= 5 && nearFuture.length >= 3);
});

t.test("a range that ends in the year 9999 is answered quickly with every increment", async (t) => {
  const ads = await startAdPlatform(t);
  for (const until of ["2999-01-01", "9999-12-31"]) {
    const time_range = JSON.stringify({ since: dayBefore(3), until });
    const daily = await readRows(ads, { time_range, time_increment: "1" });
    t.ok(daily.length <= 5 && daily.length >= 3, until);
    t.ok((await readRows(ads, { time_range, time_increment: "monthly" })).length <= 2, until);
    const future = JSON.stringify({ since: until, until });
    t.strictSame(await readRows(ads, { time_range: future, time_increment: "1" }), []);
  }
});

t.test("a level has one row per object, with the fields of its ancestors", async (t) => {
  const ads = await startAdPlatform(t);
  const campaign_id = await ads.create("campaigns", { name: "Spring" });
  const adset_id = await ads.create("adsets", { campaign_id, name: "Brazil" });
  const other = await ads.create("adsets", { campaign_id, name: "Chile" });
  const fields = "account_name,campaign_name,adset_id,adset_name,ad_id,objective";
  const query = { level: "adset", fields, time_range: range(3, 3) };
  const data = await readRows(ads, query, `${campaign_id}/insights`);
  t.strictSame(
    data.map(({ adset_id: id, adset_name }: Record<string, string>) => [id, adset_name]),
    [
      [other, "Chile"],
      [adset_id, "Brazil"],
    ],
  );
  t.match(data[0], { account_name: "Sandbox Coffee", campaign_name: "Spring", objective: "OUTCOME_TRAFFIC" });
  t.notOk("ad_id" in data[0]);
  t.strictSame(await readRows(ads, { fields, time_range: range(3, 3) }, `${adset_id}/insights`), [data[1]]);
  t.equal((await readRows(ads, query)).length, 2, "the account has the same rows");
  const filtering = JSON.stringify([{ field: "adset.id", operator: "IN", value: [other] }]);
  t.strictSame(await readRows(ads, { ...query, filtering }), [data[0]]);
});

t.test("a level above the object's own is refused", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns");
  const { body } = await ads.get(`${id}/insights`, { level: "account" });
  t.match(body.error, { code: 1, error_subcode: 99 });
});

t.test("an object named `no delivery` has no rows", async (t) => {
  const ads = await startAdPlatform(t);
  const campaign_id = await ads.create("campaigns", { name: "no delivery yet" });
  await ads.create("adsets", { campaign_id });
  t.strictSame((await ads.get(`${campaign_id}/insights`)).body, { data: [] });
  t.strictSame((await ads.get(`${campaign_id}/insights`, { level: "adset" })).body, { data: [] });
});

t.test("a call for too many rows is refused", async (t) => {
  const ads = await startAdPlatform(t);
  const breakdowns = "age,gender,country,device_platform";
  t.match((await ads.get(INSIGHTS, { breakdowns })).body.error, { code: 100, error_subcode: 1487534 });
  const hourly = "hourly_stats_aggregated_by_advertiser_time_zone";
  const query = { breakdowns: hourly, time_increment: "1", date_preset: "maximum" };
  t.match((await ads.get(INSIGHTS, query)).body.error, { code: 100, error_subcode: 1487534 });
});

t.test("breakdowns that exceed the row limit are refused before they are multiplied", async (t) => {
  const ads = await startAdPlatform(t);
  const hourly = "hourly_stats_aggregated_by_advertiser_time_zone";
  const repeated = { breakdowns: Array(6).fill(hourly).join() };
  t.match((await ads.get(INSIGHTS, repeated)).body.error, { code: 100, message: /unique/ });
  const all = `age,gender,country,region,publisher_platform,device_platform,impression_device,${hourly}`;
  for (const ask of [ads.get, ads.post])
    t.match((await ask(INSIGHTS, { breakdowns: all })).body.error, { code: 100, error_subcode: 1487534 });
});

t.test("rows are returned in pages", async (t) => {
  const ads = await startAdPlatform(t);
  const query = { time_range: range(9, 3), time_increment: "1", limit: "4" };
  const first = (await ads.get(INSIGHTS, query)).body;
  t.equal(first.data.length, 4);
  const second = (await ads.get(INSIGHTS, { ...query, after: first.paging.cursors.after })).body;
  t.equal(second.data.length, 3);
  t.notOk(second.paging.next);
});

t.test("actions include the requested attribution windows", async (t) => {
  const ads = await startAdPlatform(t);
  const [row] = await readRows(ads, {
    fields: "actions",
    action_attribution_windows: '["7d_click","1d_view"]',
  });
  t.match(row.actions[0], {
    action_type: "link_click",
    value: String,
    "7d_click": String,
    "1d_view": String,
  });
});

t.test("amounts in a currency without a minor unit have no decimals", async (t) => {
  const ads = await startAdPlatform(t);
  const token = issueAdToken(["1600000000000104"]);
  const { body } = await ads.get(
    "act_1600000000000104/insights",
    { fields: "spend,account_currency" },
    token,
  );
  t.match(body.data[0], { account_currency: "JPY", spend: /^\d+$/ });
  const created = await ads.post("act_1600000000000104/campaigns", { ...VALID_FORMS.campaigns }, token);
  t.equal(created.status, 200);
});

t.test("rows can be filtered and sorted by metrics", async (t) => {
  const platform = await startAdPlatform(t);
  const readRows = async (query: Record<string, string>) => {
    const { body } = await platform.get(`${AD_ACCOUNT_ID}/insights`, {
      fields: "impressions",
      time_range: '{"since":"2026-09-01","until":"2026-09-10"}',
      time_increment: "1",
      ...query,
    });
    return body.data.map(({ impressions }: { impressions: string }) => Number(impressions));
  };
  const all: number[] = await readRows({});
  t.equal(all.length, 10);
  t.same(
    await readRows({ sort: '["impressions_descending"]' }),
    [...all].sort((a, b) => b - a),
  );
  t.same(
    await readRows({ sort: '["impressions_ascending"]' }),
    [...all].sort((a, b) => a - b),
  );
  const middle = [...all].sort((a, b) => a - b)[4] as number;
  const above = [{ field: "impressions", operator: "GREATER_THAN", value: middle }];
  t.same(
    await readRows({ filtering: JSON.stringify(above) }),
    all.filter((count) => count > middle),
  );
  const { body } = await platform.get(`${AD_ACCOUNT_ID}/insights`, { sort: '["charm_descending"]' });
  t.match(body.error, { code: 100, message: /sort/ });
});
