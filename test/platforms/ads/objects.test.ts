import t from "tap";
import type { AdObjects } from "../../../src/platforms/ads/objects.ts";
import type { Platforms } from "../../../src/platforms/platforms.ts";
import { failedAs } from "../../fixtures/platforms/failures.ts";
import { DEMO_AD_ACCESS, type RunningPlatforms, startPlatforms } from "../../fixtures/platforms/platforms.ts";
import { issueAdToken } from "../../fixtures/sandbox/ad-platform.ts";

const CAMPAIGN = { name: "Spring", objective: "OUTCOME_TRAFFIC" };
const ADSET = {
  name: "Brazil",
  daily_budget: 1000,
  billing_event: "IMPRESSIONS",
  optimization_goal: "LINK_CLICKS",
  bid_amount: 150,
  bid_strategy: "LOWEST_COST_WITH_BID_CAP",
  targeting: { geo_locations: { countries: ["BR"] } },
};
const CREATIVE = {
  name: "A cup",
  object_story_spec: {
    page_id: "1300000000000401",
    link_data: { link: "https://shop.example/", message: "Coffee" },
  },
};

type Creation = Parameters<AdObjects["create"]>;

const makeObject = async (
  { ads }: Platforms,
  kind: Creation[1],
  fields: Creation[2]["fields"],
): Promise<string> => (await ads.objects.create(DEMO_AD_ACCESS, kind, { fields })).id;

/** Creates a campaign, an ad set, a creative and an ad that refer to each other. */
async function makeAll({ platforms }: RunningPlatforms) {
  const campaign = await makeObject(platforms, "campaigns", CAMPAIGN);
  const adset = await makeObject(platforms, "adsets", { ...ADSET, campaign_id: campaign });
  const creative = await makeObject(platforms, "adcreatives", CREATIVE);
  const ad = await makeObject(platforms, "ads", {
    name: "A cup in Brazil",
    adset_id: adset,
    creative: { creative_id: creative },
  });
  return { campaign, adset, creative, ad };
}

t.test("an ad account is read with its business flattened", async (t) => {
  const { platforms } = await startPlatforms(t);
  t.same(await platforms.ads.accounts.read(DEMO_AD_ACCESS), {
    ad_account_id: "act_1600000000000101",
    account_id: "1600000000000101",
    name: "Sandbox Coffee",
    account_status: 1,
    currency: "BRL",
    timezone_name: "America/Sao_Paulo",
    business_id: "1700000000000009",
    business_name: "Sandbox Coffee Ltda",
  });
  const own = { account: "act_1600000000000105", token: issueAdToken(["1600000000000105"]) };
  const personal = await platforms.ads.accounts.read(own);
  t.equal(personal.business_id, undefined);
  t.equal(personal.business_name, "Sam S.", "the billing name is used instead");
});

t.test("all accounts of a token are listed across short and empty pages", async (t) => {
  const context = await startPlatforms(t);
  const token = issueAdToken(
    ["1600000000000101", "1600000000000102", "1600000000000108"],
    ["ads_management", "ads_read", "business_management"],
  );
  const accounts = await context.platforms.ads.accounts.listAll(token);
  t.same(
    accounts.map(({ account_id }) => account_id),
    ["1600000000000101", "1600000000000102", "1600000000000108"],
  );
  const pages = (await context.receivedCalls()).filter(({ path }) => path.endsWith("/me/adaccounts"));
  t.ok(pages.length >= 3);
  t.notOk(
    pages.some(({ query }) => query.access_token),
    "the platform's own links, which contain the token, are not followed",
  );
});

t.test("subscribing an account posts to its subscribed_apps", async (t) => {
  const context = await startPlatforms(t);
  await context.platforms.ads.accounts.subscribe(DEMO_AD_ACCESS);
  t.match((await context.receivedCalls()).at(-1), {
    method: "POST",
    path: `/v26.0/${DEMO_AD_ACCESS.account}/subscribed_apps`,
  });
});

t.test("a read with an ad account's dead token fails as token_dead", async (t) => {
  const { platforms } = await startPlatforms(t);
  const dead = { account: "act_1900000000000109", token: issueAdToken(["1900000000000109"]) };
  await t.rejects(platforms.ads.accounts.read(dead), failedAs("token_dead", { owner: "ad_account" }));
});

t.test("a create is sent as a form with JSON values, adding only required defaults", async (t) => {
  const context = await startPlatforms(t);
  await makeAll(context);
  const posts = (await context.receivedCalls()).filter(({ method }) => method === "POST");
  t.ok(posts.every(({ headers }) => headers["content-type"] === "application/x-www-form-urlencoded"));
  const [campaign, adset, creative, ad] = posts.map(({ body }) => body);
  t.same(campaign, {
    name: "Spring",
    objective: "OUTCOME_TRAFFIC",
    special_ad_categories: "[]",
    status: "PAUSED",
    is_adset_budget_sharing_enabled: "false",
  });
  t.match(adset, { daily_budget: "1000", bid_amount: "150", targeting: JSON.stringify(ADSET.targeting) });
  t.same(creative, { name: "A cup", object_story_spec: JSON.stringify(CREATIVE.object_story_spec) });
  t.match(ad, { status: "PAUSED", creative: /^\{"creative_id":"\d+"\}$/ });
});

t.test("a campaign with a budget omits the budget sharing flag", async (t) => {
  const context = await startPlatforms(t);
  await context.platforms.ads.objects.create(DEMO_AD_ACCESS, "campaigns", {
    fields: {
      ...CAMPAIGN,
      daily_budget: 2000,
    },
  });
  const [call] = await context.receivedCalls();
  t.match(call?.body, { daily_budget: "2000", is_adset_budget_sharing_enabled: undefined });
});

t.test("objects are returned with the types of the specification", async (t) => {
  const context = await startPlatforms(t);
  const { objects } = context.platforms.ads;
  const { campaign, adset, creative, ad } = await makeAll(context);
  t.match(await objects.read(DEMO_AD_ACCESS, "campaigns", campaign), {
    id: campaign,
    name: "Spring",
    status: "PAUSED",
    special_ad_categories: [],
    created_time: /[+-]\d{4}$/,
  });
  const set = await objects.read(DEMO_AD_ACCESS, "adsets", adset);
  t.match(set, {
    campaign_id: campaign,
    daily_budget: "1000",
    bid_amount: "150",
    targeting: ADSET.targeting,
  });
  t.notOk("account_id" in set, "the field requested for the ownership check is not returned");
  t.notOk("promoted_object" in set, "fields the platform omits are absent");
  t.match(await objects.read(DEMO_AD_ACCESS, "ads", ad), {
    adset_id: adset,
    creative: { creative_id: creative },
  });
  t.notOk("id" in ((await objects.read(DEMO_AD_ACCESS, "ads", ad)).creative as object));
  t.match(await objects.read(DEMO_AD_ACCESS, "adcreatives", creative), {
    name: "A cup",
    object_story_spec: Object,
  });
});

t.test("an update sends only the changed fields", async (t) => {
  const context = await startPlatforms(t);
  const { objects } = context.platforms.ads;
  const { adset } = await makeAll(context);
  const fields = { name: "Chile", targeting: { geo_locations: { countries: ["CL"] } } };
  t.same(
    await objects.update(DEMO_AD_ACCESS, "adsets", { id: adset, fields }),
    { id: adset, ...fields },
    "the written fields are returned",
  );
  t.same((await context.receivedCalls()).at(-1)?.body, {
    name: "Chile",
    targeting: '{"geo_locations":{"countries":["CL"]}}',
  });
  t.match(await objects.read(DEMO_AD_ACCESS, "adsets", adset), { name: "Chile", daily_budget: "1000" });
});

t.test("a refusal names the rejected field", async (t) => {
  const { platforms } = await startPlatforms(t);
  const campaign = await makeObject(platforms, "campaigns", CAMPAIGN);
  const cheap = { ...ADSET, campaign_id: campaign, daily_budget: 1 };
  await t.rejects(
    platforms.ads.objects.create(DEMO_AD_ACCESS, "adsets", { fields: cheap }),
    failedAs("invalid", { platformError: { code: 100, subcode: 1885272, fields: ["daily_budget"] } }),
  );
});

t.test("objects are listed in pages, by account or by parent", async (t) => {
  const context = await startPlatforms(t);
  const { objects } = context.platforms.ads;
  const { campaign, adset, ad } = await makeAll(context);
  const names = ["One", "Two", "Three"];
  for (const name of names)
    await objects.create(DEMO_AD_ACCESS, "campaigns", { fields: { ...CAMPAIGN, name } });
  const seen: unknown[] = [];
  for (let after: string | undefined, more = true; more; ) {
    const page = await objects.list(DEMO_AD_ACCESS, "campaigns", { limit: 2, after });
    t.ok(page.items.length <= 2);
    seen.push(...page.items.map(({ name }) => name));
    after = page.after ?? undefined;
    more = page.hasMore;
  }
  t.same([...seen].sort(), ["One", "Spring", "Three", "Two"]);
  const ids = async (kind: "adsets" | "ads", where: Record<string, string>) =>
    (await objects.list(DEMO_AD_ACCESS, kind, { where })).items.map(({ id }) => id);
  t.same(await ids("adsets", { campaign_id: campaign }), [adset]);
  t.same(await ids("ads", { adset_id: adset }), [ad]);
  t.same(await ids("ads", { campaign_id: campaign }), [ad]);
  t.same(await ids("ads", { adset_id: adset, campaign_id: campaign }), [ad]);
  t.same(await ids("ads", { adset_id: adset, campaign_id: "1" }), [], "the ad set is in another campaign");
  const [creative] = (await objects.list(DEMO_AD_ACCESS, "adcreatives")).items;
  t.match(creative, { name: "A cup" });
});

t.test("deleted objects are listed only on request, and lists filter by configured status", async (t) => {
  const { platforms } = await startPlatforms(t);
  const { objects } = platforms.ads;
  const { id } = await objects.create(DEMO_AD_ACCESS, "campaigns", { fields: CAMPAIGN });
  await objects.create(DEMO_AD_ACCESS, "campaigns", {
    fields: { ...CAMPAIGN, name: "Running", status: "ACTIVE" },
  });
  await objects.create(DEMO_AD_ACCESS, "campaigns", { fields: { ...CAMPAIGN, name: "Resting" } });
  await objects.update(DEMO_AD_ACCESS, "campaigns", { id, fields: { status: "DELETED" } });
  const found = async (status?: string) =>
    (await objects.list(DEMO_AD_ACCESS, "campaigns", { where: { status } })).items.map(({ name }) => name);
  t.same((await found()).sort(), ["Resting", "Running"]);
  t.same(await found("DELETED"), ["Spring"]);
  t.same(await found("ACTIVE"), ["Running"]);
  t.same(await found("PAUSED"), ["Resting"]);
});

t.test(
  "an object of another account is not found, even when the token can access both accounts",
  async (t) => {
    const context = await startPlatforms(t);
    const token = issueAdToken(["1600000000000101", "1600000000000102"]);
    const [mine, theirs] = [
      { account: "act_1600000000000101", token },
      { account: "act_1600000000000102", token },
    ];
    const { id } = await context.platforms.ads.objects.create(theirs, "campaigns", {
      fields: CAMPAIGN,
    });
    const other = await context.connectAnother(); // has no cached owners
    const notFound = failedAs("missing");
    for (const { objects, insights } of [context.platforms.ads, other.ads]) {
      await t.rejects(objects.read(mine, "campaigns", id), notFound);
      const edit = { id, fields: { name: "Stolen" } };
      await t.rejects(objects.update(mine, "campaigns", edit), notFound);
      await t.rejects(objects.validate(mine, "campaigns", edit), notFound);
      await t.rejects(objects.create(mine, "adsets", { fields: { ...ADSET, campaign_id: id } }), notFound);
      await t.rejects(objects.list(mine, "adsets", { where: { campaign_id: id } }), notFound);
      await t.rejects(insights.rows(mine, { objectId: id }), notFound);
      await t.rejects(insights.startReport(mine, { objectId: id }), notFound);
    }
    t.match(await context.platforms.ads.objects.read(theirs, "campaigns", id), { name: "Spring" });
    const checks = async () =>
      (await context.receivedCalls()).filter(({ query }) => query.fields?.startsWith("account_id")).length;
    const before = await checks();
    await other.ads.objects.update(theirs, "campaigns", { id, fields: { name: "Mine" } });
    t.equal(await checks(), before, "the owner of an object is requested only once");
  },
);

t.test("integers beyond 2^53 keep their exact value", async (t) => {
  const { platforms } = await startPlatforms(t);
  const { objects } = platforms.ads;
  const campaign = await makeObject(platforms, "campaigns", CAMPAIGN);
  const targeting = {
    geo_locations: { countries: ["BR"] },
    custom_audiences: [{ id: 120210000000000000017n }],
  };
  const id = await makeObject(platforms, "adsets", { ...ADSET, campaign_id: campaign, targeting });
  t.same((await objects.read(DEMO_AD_ACCESS, "adsets", id)).targeting, targeting);
});

t.test("an id of an object of another kind is neither read nor edited", async (t) => {
  const context = await startPlatforms(t);
  const { adset } = await makeAll(context);
  const other = await context.connectAnother(); // has no cached kinds
  for (const { objects } of [context.platforms.ads, other.ads]) {
    const edit = { id: adset, fields: { name: "A campaign" } };
    await t.rejects(objects.update(DEMO_AD_ACCESS, "campaigns", edit), failedAs("missing"));
    await t.rejects(objects.read(DEMO_AD_ACCESS, "campaigns", adset), failedAs("missing"));
    t.match(await objects.read(DEMO_AD_ACCESS, "adsets", adset), { name: ADSET.name });
  }
});

t.test("a filtered list fills its pages and continues where it stopped", async (t) => {
  const context = await startPlatforms(t);
  const { objects } = context.platforms.ads;
  for (let number = 0; number < 12; number++) {
    const status = number % 3 === 0 ? "ACTIVE" : "PAUSED";
    await objects.create(DEMO_AD_ACCESS, "campaigns", { fields: { ...CAMPAIGN, name: `${number}`, status } });
  }
  const where = { status: "ACTIVE" };
  const first = await objects.list(DEMO_AD_ACCESS, "campaigns", { where, limit: 3 });
  t.same(
    first.items.map(({ name }) => name),
    ["9", "6", "3"],
  );
  t.match(first, { before: null, hasMore: true });
  const after = first.after as string;
  const second = await objects.list(DEMO_AD_ACCESS, "campaigns", { where, limit: 3, after });
  t.same(
    second.items.map(({ name }) => name),
    ["0"],
  );
  t.match(second, { after: null, hasMore: false });
});
