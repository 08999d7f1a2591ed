import t from "tap";
import {
  AD_ACCOUNT_ID,
  DEMO_ADS_TOKEN,
  startAdPlatform,
  VALID_FORMS,
} from "../../fixtures/sandbox/ad-platform.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

t.test("a campaign is created from a form and read as written", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns", {
    special_ad_categories: '["HOUSING"]',
    lifetime_budget: "50000",
    spend_cap: "90000",
    bid_strategy: "COST_CAP",
    start_time: "2026-09-01T00:00:00-0300",
    stop_time: "1790000000",
  });
  t.match(id, /^\d{18}$/);
  const fields =
    "name,objective,status,special_ad_categories,buying_type,daily_budget,lifetime_budget,spend_cap,bid_strategy,start_time,stop_time,created_time,account_id";
  const { body } = await ads.get(id, { fields });
  const { created_time, ...rest } = body;
  t.strictSame(rest, {
    id,
    name: "Spring",
    objective: "OUTCOME_TRAFFIC",
    status: "PAUSED",
    special_ad_categories: ["HOUSING"],
    buying_type: "AUCTION",
    lifetime_budget: "50000",
    spend_cap: "90000",
    bid_strategy: "COST_CAP",
    start_time: "2026-09-01T00:00:00-0300",
    stop_time: "2026-09-21T11:13:20-0300",
    account_id: "1600000000000101",
  });
  t.match(created_time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d-0300$/);
});

t.test("a campaign can be created from a JSON body", async (t) => {
  const ads = await startAdPlatform(t);
  const json = {
    ...VALID_FORMS.campaigns,
    special_ad_categories: [],
    is_adset_budget_sharing_enabled: false,
  };
  const { status, body } = await callSandbox(`${ads.base}/${AD_ACCOUNT_ID}/campaigns`, {
    token: DEMO_ADS_TOKEN,
    json,
  });
  t.equal(status, 200);
  t.strictSame((await ads.get(body.id, { fields: "special_ad_categories" })).body, {
    id: body.id,
    special_ad_categories: [],
  });
});

t.test("only the id is shown without fields, and an unknown field is refused", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns");
  t.strictSame((await ads.get(id)).body, { id });
  const { status, body } = await ads.get(id, { fields: "name,colour" });
  t.equal(status, 400);
  t.match(body.error, { code: 100, message: /colour.*Campaign/ });
});

t.test("times are Unix seconds with date_format U", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns", { start_time: "1790000000" });
  const { body } = await ads.get(id, { fields: "start_time", date_format: "U" });
  t.equal(body.start_time, 1_790_000_000);
});

/** Shared by the refusal tests, which create nothing. */
const shared = startAdPlatform(t);

for (const name of ["name", "objective", "special_ad_categories"] as const)
  t.test(`a campaign without ${name} is refused`, async (t) => {
    const ads = await shared;
    const { [name]: _left, ...form } = VALID_FORMS.campaigns;
    const { status, body } = await ads.post(`${AD_ACCOUNT_ID}/campaigns`, form);
    t.equal(status, 400);
    t.match(body.error, {
      code: 100,
      message: new RegExp(name),
      type: "OAuthException",
      is_transient: false,
    });
    t.type(body.error.fbtrace_id, "string");
  });

const REFUSED: Record<string, { form: Record<string, string>; error: object }> = {
  "special categories that are not a list": {
    form: { special_ad_categories: "NONE" },
    error: { code: 100, message: /special_ad_categories must be an array/ },
  },
  "an unknown special category": {
    form: { special_ad_categories: '["CARS"]' },
    error: { code: 100, message: /special_ad_categories\[0\]/ },
  },
  "an unknown objective": { form: { objective: "FAME" }, error: { code: 100, message: /objective/ } },
  "a legacy objective": {
    form: { objective: "LINK_CLICKS" },
    error: { code: 100, error_user_title: /Objective/, error_data: { blame_field_specs: [["objective"]] } },
  },
  "an unknown bid strategy": {
    form: { bid_strategy: "CHEAP" },
    error: { code: 100, message: /bid_strategy/ },
  },
  "an unknown status": { form: { status: "RUNNING" }, error: { code: 100, message: /status/ } },
  "an initial status other than active or paused": {
    form: { status: "ARCHIVED" },
    error: { code: 100, error_user_title: /Status/ },
  },
  "a budget that is not an integer": {
    form: { daily_budget: "10.50" },
    error: { code: 100, message: /daily_budget must be an integer/ },
  },
  "a budget that is too low": {
    form: { daily_budget: "99" },
    error: { code: 100, error_subcode: 1885272, error_data: '{"blame_field_specs":[["daily_budget"]]}' },
  },
  "both budgets": {
    form: { daily_budget: "1000", lifetime_budget: "1000" },
    error: { code: 100, error_user_msg: /either/ },
  },
  "a boolean that is not JSON": {
    form: { is_adset_budget_sharing_enabled: "no" },
    error: { code: 100, message: /must be a boolean/ },
  },
  "an end time before its start time": {
    form: { start_time: "1790000000", stop_time: "1780000000" },
    error: { code: 100, error_data: { blame_field_specs: [["stop_time"]] } },
  },
  "an invalid time": { form: { start_time: "tomorrow" }, error: { code: 100, message: /start_time/ } },
};

for (const [what, { form, error }] of Object.entries(REFUSED))
  t.test(`a campaign with ${what} is refused`, async (t) => {
    const ads = await shared;
    const { status, body } = await ads.post(`${AD_ACCOUNT_ID}/campaigns`, {
      ...VALID_FORMS.campaigns,
      ...form,
    });
    t.equal(status, 400);
    t.match(body.error, error);
  });

t.test("a campaign without a budget must specify whether its ad sets share theirs", async (t) => {
  const ads = await startAdPlatform(t);
  const { is_adset_budget_sharing_enabled: _left, ...form } = VALID_FORMS.campaigns;
  const { body } = await ads.post(`${AD_ACCOUNT_ID}/campaigns`, form);
  t.match(body.error, { code: 100, error_subcode: 4834011 });
  t.match(body.error, { error_user_title: String, error_user_msg: String });
  t.equal((await ads.post(`${AD_ACCOUNT_ID}/campaigns`, { ...form, daily_budget: "1000" })).status, 200);
});

t.test("a campaign created without status is ACTIVE", async (t) => {
  const ads = await startAdPlatform(t);
  const { status: _left, ...form } = VALID_FORMS.campaigns;
  const { id } = (await ads.post(`${AD_ACCOUNT_ID}/campaigns`, form)).body;
  t.strictSame((await ads.get(id, { fields: "status" })).body, { id, status: "ACTIVE" });
});

t.test("a campaign has the countries of its special category", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns", { special_ad_category_country: '["BR","Atlantis"]' });
  const read = async () => (await ads.get(id, { fields: "special_ad_category_country" })).body;
  t.strictSame(await read(), { id, special_ad_category_country: ["BR", "Atlantis"] }, "any text is accepted");
  await ads.post(id, { special_ad_category_country: '["US"]' });
  t.strictSame(await read(), { id, special_ad_category_country: ["US"] });
  for (const special_ad_category_country of ["BR", "[1]", '{"a":"BR"}'])
    t.match((await ads.post(id, { special_ad_category_country })).body.error, {
      code: 100,
      message: /special_ad_category_country must be an array/,
    });
});

t.test("an update changes only the named fields", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns", { daily_budget: "1000" });
  t.strictSame((await ads.post(id, { name: "Summer", daily_budget: "2000" })).body, { success: true });
  t.strictSame((await ads.get(id, { fields: "name,daily_budget,objective" })).body, {
    id,
    name: "Summer",
    daily_budget: "2000",
    objective: "OUTCOME_TRAFFIC",
  });
  t.match((await ads.post(id, { lifetime_budget: "2000" })).body.error, { error_user_msg: /either/ });
  t.match((await ads.post(id, { buying_type: "RESERVED" })).body.error, {
    code: 100,
    error_data: { blame_field_specs: [["buying_type"]] },
  });
});

t.test("a deleted campaign only accepts a new name", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns");
  t.strictSame((await ads.remove(id)).body, { success: true });
  t.match((await ads.get(id, { fields: "status,effective_status" })).body, {
    status: "DELETED",
    effective_status: "DELETED",
  });
  t.match((await ads.post(id, { status: "ACTIVE" })).body.error, { code: 100, error_subcode: 1487566 });
  t.equal((await ads.post(id, { name: "Gone" })).status, 200);
});

t.test("a new campaign has the status IN_PROCESS", async (t) => {
  const ads = await startAdPlatform(t, { pace: 1000 });
  const id = await ads.create("campaigns");
  t.equal((await ads.get(id, { fields: "effective_status" })).body.effective_status, "IN_PROCESS");
});

t.test("a campaign has its configured status after the review", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns");
  const status = async () => (await ads.get(id, { fields: "effective_status" })).body.effective_status;
  await until("the campaign is paused", async () => (await status()) === "PAUSED");
  await ads.post(id, { status: "ACTIVE" });
  t.equal(await status(), "ACTIVE");
});

t.test(
  "a campaign named `throttle me` is refused with a rate limit error that includes the waiting time",
  async (t) => {
    const ads = await startAdPlatform(t);
    const { status, headers, body } = await ads.post(`${AD_ACCOUNT_ID}/campaigns`, {
      ...VALID_FORMS.campaigns,
      name: "throttle me",
    });
    t.equal(status, 400);
    t.match(body.error, { code: 80004, error_subcode: 2446079 });
    const [usage] = JSON.parse(headers.get("x-business-use-case-usage") ?? "{}")["1600000000000101"];
    t.match(usage, { type: "ads_management", call_count: 100, estimated_time_to_regain_access: 1 });
    t.match(JSON.parse(headers.get("x-ad-account-usage") ?? "{}"), { acc_id_util_pct: 100 });
  },
);
