import t from "tap";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  DEMO_ADS_TOKEN,
  issueAdToken,
  startAdPlatform,
  VALID_FORMS,
} from "../../fixtures/sandbox/ad-platform.ts";
import { proofFor } from "../../fixtures/sandbox/sandbox.ts";

const ADSETS = `${AD_ACCOUNT_ID}/adsets`;

/** Posts a valid ad set with the given changes into a new campaign; an empty text omits a parameter. */
async function post(ads: AdPlatform, form: Record<string, string>, campaign: Record<string, string> = {}) {
  const campaign_id = await ads.create("campaigns", campaign);
  const all = Object.entries({ ...VALID_FORMS.adsets, campaign_id, ...form }).filter(
    ([, value]) => value !== "",
  );
  return ads.post(ADSETS, Object.fromEntries(all));
}

t.test('an ad set is read as written, with a numeric bid and "0" for the unset budget', async (t) => {
  const ads = await startAdPlatform(t);
  const campaign_id = await ads.create("campaigns");
  const id = await ads.create("adsets", {
    campaign_id,
    bid_amount: "250",
    bid_strategy: "LOWEST_COST_WITH_BID_CAP",
    promoted_object: '{"page_id":"1300000000000401"}',
    end_time: "2026-12-24",
  });
  const fields =
    "name,campaign_id,status,daily_budget,lifetime_budget,billing_event,optimization_goal,bid_amount,bid_strategy,start_time,end_time,targeting,promoted_object";
  t.strictSame((await ads.get(id, { fields })).body, {
    id,
    name: "Brazil",
    campaign_id,
    status: "PAUSED",
    daily_budget: "1000",
    lifetime_budget: "0",
    billing_event: "IMPRESSIONS",
    optimization_goal: "LINK_CLICKS",
    bid_amount: 250,
    bid_strategy: "LOWEST_COST_WITH_BID_CAP",
    end_time: "2026-12-24T00:00:00-0300",
    targeting: { geo_locations: { countries: ["BR"] } },
    promoted_object: { page_id: "1300000000000401" },
  });
});

t.test("an ad set has a destination type, which is any text", async (t) => {
  const ads = await startAdPlatform(t);
  const { id } = (await post(ads, { destination_type: "WHATSAPP" })).body;
  const read = async () => (await ads.get(id, { fields: "destination_type" })).body;
  t.strictSame(await read(), { id, destination_type: "WHATSAPP" });
  await ads.post(id, { destination_type: "TELEPATHY" });
  t.strictSame(await read(), { id, destination_type: "TELEPATHY" });
});

/** Shared by the refusal tests, which create nothing but campaigns. */
const shared = startAdPlatform(t);

for (const name of ["name", "campaign_id", "billing_event", "optimization_goal", "targeting"])
  t.test(`an ad set without ${name} is refused`, async (t) => {
    const ads = await shared;
    const { status, body } = await post(ads, { [name]: "" });
    t.equal(status, 400);
    t.match(body.error, { code: 100, message: new RegExp(name) });
  });

const OWN_BUDGET = { daily_budget: "5000" };

const REFUSED: Record<
  string,
  { form: Record<string, string>; campaign?: Record<string, string>; error: object }
> = {
  "a missing campaign": { form: { campaign_id: "42" }, error: { error_user_title: /Campaign/ } },
  "a budget in addition to its campaign's": {
    form: {},
    campaign: OWN_BUDGET,
    error: { error_subcode: 1885621, error_data: { blame_field_specs: [["daily_budget"]] } },
  },
  "no budget in a campaign without one": {
    form: { daily_budget: "" },
    error: { error_user_title: /Budget/ },
  },
  "both budgets": {
    form: { lifetime_budget: "9000", end_time: "2026-12-24" },
    error: { error_user_msg: /either/ },
  },
  "a budget that is too low": { form: { daily_budget: "5" }, error: { error_subcode: 1885272 } },
  "a lifetime budget without an end time": {
    form: { daily_budget: "", lifetime_budget: "9000" },
    error: { error_data: { blame_field_specs: [["end_time"]] } },
  },
  "an end time before its start time": {
    form: { start_time: "2026-12-24", end_time: "2026-12-23" },
    error: { error_data: { blame_field_specs: [["end_time"]] } },
  },
  "a capped bid strategy without a bid amount": {
    form: { bid_strategy: "COST_CAP" },
    error: { error_subcode: 1815857 },
  },
  "its campaign's capped bid strategy without a bid amount": {
    form: { daily_budget: "" },
    campaign: { ...OWN_BUDGET, bid_strategy: "COST_CAP" },
    error: { error_subcode: 1815857 },
  },
  "an unknown billing event": { form: { billing_event: "SMILES" }, error: { message: /billing_event/ } },
  "an unknown optimization goal": {
    form: { optimization_goal: "FAME" },
    error: { message: /optimization_goal/ },
  },
  "targeting that is not a JSON object": {
    form: { targeting: "BR" },
    error: { message: /targeting must be a JSON object/ },
  },
  "targeting without a location": {
    form: { targeting: '{"age_min":18}' },
    error: { error_subcode: 1885364 },
  },
};

for (const [what, { form, campaign, error }] of Object.entries(REFUSED))
  t.test(`an ad set with ${what} is refused`, async (t) => {
    const ads = await shared;
    const { status, body } = await post(ads, form, campaign);
    t.equal(status, 400);
    t.match(body.error, { code: 100, ...error });
  });

t.test("an ad set needs no budget in a campaign that has one", async (t) => {
  const ads = await startAdPlatform(t);
  t.equal((await post(ads, { daily_budget: "" }, OWN_BUDGET)).status, 200);
});

t.test("a campaign with budgets on its ad sets refuses a budget", async (t) => {
  const ads = await startAdPlatform(t);
  const campaign_id = await ads.create("campaigns");
  const id = await ads.create("adsets", { campaign_id });
  t.match((await ads.post(campaign_id, OWN_BUDGET)).body.error, { error_subcode: 1885621 });
  await ads.remove(id);
  t.equal((await ads.post(campaign_id, OWN_BUDGET)).status, 200);
});

t.test("a campaign of another account is reported as missing", async (t) => {
  const ads = await startAdPlatform(t);
  const token = issueAdToken(["1600000000000101", "1600000000000102"]);
  const campaign_id = await ads.create("campaigns");
  const { body } = await ads.post(
    "act_1600000000000102/adsets",
    { ...VALID_FORMS.adsets, campaign_id },
    token,
  );
  t.match(body.error, { error_data: { blame_field_specs: [["campaign_id"]] } });
});

t.test("the budget of an ad set can be changed at most four times an hour", async (t) => {
  const ads = await startAdPlatform(t, { pace: 1 });
  const id = (await post(ads, {})).body.id;
  for (const daily_budget of ["2000", "3000", "4000", "5000"])
    t.equal((await ads.post(id, { daily_budget })).status, 200);
  t.equal(
    (await ads.post(id, { daily_budget: "5000", name: "Same" })).status,
    200,
    "an equal budget is not a change",
  );
  const { status, body } = await ads.post(id, { daily_budget: "6000" });
  t.equal(status, 400);
  t.match(body.error, { code: 613, error_subcode: 1487632 });
  t.equal((await ads.get(id, { fields: "daily_budget" })).body.daily_budget, "5000");
});

t.test("campaign_id is immutable, and a deleted ad set only accepts a new name", async (t) => {
  const ads = await startAdPlatform(t);
  const id = (await post(ads, {})).body.id;
  const campaign_id = await ads.create("campaigns");
  t.match((await ads.post(id, { campaign_id })).body.error, {
    error_data: { blame_field_specs: [["campaign_id"]] },
  });
  await ads.remove(id);
  t.match((await ads.post(id, { status: "PAUSED" })).body.error, { error_subcode: 1487056 });
  t.equal((await ads.post(id, { name: "Gone" })).status, 200);
});

t.test("a targeting nested 20,000 levels deep is refused, and reads still work", async (t) => {
  const ads = await startAdPlatform(t);
  const campaign_id = await ads.create("campaigns");
  const nested = (levels: number) =>
    `{"geo_locations":{"countries":["BR"]},"deep":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const form = { ...VALID_FORMS.adsets, campaign_id };
  const withLongId = nested(20_000).replace("{", '{"id":12345678901234567890,');
  for (const targeting of [nested(20_000), nested(100), withLongId]) {
    const { status, body } = await ads.post(ADSETS, { ...form, targeting });
    t.equal(status, 400);
    t.match(body.error, { code: 100, message: /nested|JSON object/ });
  }
  const json = `{"name":"Deep","targeting":${nested(20_000)}}`;
  const headers = { "content-type": "application/json", authorization: `Bearer ${DEMO_ADS_TOKEN}` };
  const address = `${ads.base}/${ADSETS}?appsecret_proof=${proofFor(DEMO_ADS_TOKEN)}`;
  const answer = await fetch(address, { method: "POST", headers, body: json });
  t.match(await answer.json(), { error: { code: 100, message: /nested/ } });
  await ads.create("adsets", { campaign_id, targeting: nested(99) });
  t.equal((await ads.get(ADSETS, { fields: "targeting" })).body.data.length, 1);
});
