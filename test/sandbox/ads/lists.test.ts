import t from "tap";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  issueAdToken,
  startAdPlatform,
} from "../../fixtures/sandbox/ad-platform.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const CAMPAIGNS = `${AD_ACCOUNT_ID}/campaigns`;

async function makeNamed(ads: AdPlatform, names: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const name of names) ids.push(await ads.create("campaigns", { name }));
  return ids;
}

const names = ({ data }: { data: { name: string }[] }) => data.map(({ name }) => name);

t.test("a list is sorted newest first and shows the requested fields", async (t) => {
  const ads = await startAdPlatform(t);
  const ids = await makeNamed(ads, ["one", "two"]);
  const { body } = await ads.get(CAMPAIGNS, { fields: "name" });
  t.strictSame(body.data, [
    { name: "two", id: ids[1] },
    { name: "one", id: ids[0] },
  ]);
  t.strictSame((await ads.get(CAMPAIGNS)).body.data, [{ id: ids[1] }, { id: ids[0] }]);
});

t.test("next leads to the last page, and before leads back", async (t) => {
  const ads = await startAdPlatform(t);
  await makeNamed(ads, ["one", "two", "three"]);
  const first = (await ads.get(CAMPAIGNS, { fields: "name", limit: "2" })).body;
  t.strictSame(names(first), ["three", "two"]);
  const second = (await callSandbox(first.paging.next)).body;
  t.strictSame(names(second), ["one"], "the link includes the token and its proof");
  t.ok(second.paging.cursors.after, "the last page has a cursor");
  t.notOk("next" in second.paging);
  const { before } = second.paging.cursors;
  t.strictSame(names((await ads.get(CAMPAIGNS, { fields: "name", limit: "2", before })).body), [
    "three",
    "two",
  ]);
  const { after } = first.paging.cursors;
  t.strictSame(names((await ads.get(CAMPAIGNS, { fields: "name", limit: "2", after })).body), ["one"]);
  t.match((await ads.get(CAMPAIGNS, { after: "nonsense" })).body.error, { code: 100 });
});

t.test("deleted and archived objects are hidden and can leave short or empty pages", async (t) => {
  const ads = await startAdPlatform(t);
  const [one, two = "", three = ""] = await makeNamed(ads, ["one", "two", "three"]);
  await ads.remove(three);
  await ads.post(two, { status: "ARCHIVED" });
  const first = (await ads.get(CAMPAIGNS, { limit: "2" })).body;
  t.strictSame(first.data, []);
  t.type(first.paging.next, "string");
  t.strictSame((await callSandbox(first.paging.next)).body.data, [{ id: one }]);
});

t.test("objects of every status are listed when effective_status or filtering names it", async (t) => {
  const ads = await startAdPlatform(t);
  const [one = "", two = "", three = ""] = await makeNamed(ads, ["one", "two", "three"]);
  await ads.remove(one);
  await ads.post(two, { status: "ACTIVE" });
  const listNames = async (query: Record<string, string>) =>
    names((await ads.get(CAMPAIGNS, { fields: "name", ...query })).body);
  await until(
    "all reviews are over",
    async () => (await listNames({ effective_status: '["IN_PROCESS"]' })).length === 0,
  );
  t.strictSame(await listNames({ effective_status: '["PAUSED"]' }), ["three"]);
  t.strictSame(await listNames({ effective_status: '["DELETED","ACTIVE"]' }), ["two", "one"]);
  const filtering = (...filters: object[]) => ({ filtering: JSON.stringify(filters) });
  t.strictSame(await listNames(filtering({ field: "status", operator: "EQUAL", value: "ACTIVE" })), ["two"]);
  t.strictSame(
    await listNames(filtering({ field: "campaign.effective_status", operator: "IN", value: ["DELETED"] })),
    ["one"],
  );
  t.strictSame(await listNames(filtering({ field: "name", operator: "CONTAIN", value: "T" })), [
    "three",
    "two",
  ]);
  t.strictSame(await listNames(filtering({ field: "id", operator: "IN", value: [three, one] })), ["three"]);
});

t.test("an invalid filter is refused", async (t) => {
  const ads = await startAdPlatform(t);
  const bad: Record<string, string>[] = [
    { effective_status: "PAUSED" },
    { effective_status: '["RUNNING"]' },
    { filtering: '{"field":"status"}' },
    { filtering: '["status"]' },
    { filtering: "[null]" },
    { filtering: '[{"field":"colour","operator":"IN","value":["RED"]}]' },
    { filtering: '[{"field":"status","operator":"LIKE","value":"ACTIVE"}]' },
    { filtering: '[{"field":"constructor","operator":"IN","value":[]}]' },
    { filtering: '[{"field":"name","operator":"constructor","value":"x"}]' },
    { limit: "0" },
    { limit: "many" },
  ];
  for (const query of bad) {
    const { status, body } = await ads.get(CAMPAIGNS, query);
    t.equal(status, 400, JSON.stringify(query));
    t.match(body.error, { code: 100 });
  }
});

t.test("a campaign lists its ad sets and ads, an ad set its ads", async (t) => {
  const ads = await startAdPlatform(t);
  const campaign_id = await ads.create("campaigns");
  const adset_id = await ads.create("adsets", { campaign_id });
  const other = await ads.create("adsets", { campaign_id: await ads.create("campaigns") });
  const creative = JSON.stringify({ creative_id: await ads.create("adcreatives") });
  const ad = await ads.create("ads", { adset_id, creative });
  const elsewhere = await ads.create("ads", { adset_id: other, creative });
  t.strictSame((await ads.get(`${campaign_id}/adsets`)).body.data, [{ id: adset_id }]);
  t.strictSame((await ads.get(`${campaign_id}/ads`)).body.data, [{ id: ad }]);
  t.strictSame((await ads.get(`${other}/ads`)).body.data, [{ id: elsewhere }]);
  t.strictSame((await ads.get(`${AD_ACCOUNT_ID}/ads`)).body.data, [{ id: elsewhere }, { id: ad }]);
  const filtering = JSON.stringify([{ field: "campaign.id", operator: "EQUAL", value: campaign_id }]);
  t.strictSame((await ads.get(`${AD_ACCOUNT_ID}/ads`, { filtering })).body.data, [{ id: ad }]);
  await ads.remove(campaign_id);
  t.strictSame(
    (await ads.get(`${AD_ACCOUNT_ID}/ads`)).body.data,
    [{ id: elsewhere }],
    "a deleted campaign hides its ads",
  );
});

t.test("every list of campaigns, ad sets and ads filters by name and by created_time", async (t) => {
  const ads = await startAdPlatform(t);
  const campaign_id = await ads.create("campaigns", { name: "match" });
  const adset_id = await ads.create("adsets", { campaign_id, name: "match" });
  const creative = JSON.stringify({ creative_id: await ads.create("adcreatives") });
  const adId = await ads.create("ads", { adset_id, creative, name: "match" });
  await ads.create("campaigns", { name: "other" });
  await ads.create("adsets", { campaign_id, name: "other" });
  await ads.create("ads", { adset_id, creative, name: "other" });
  const now = Math.floor(Date.now() / 1000);
  const lists = {
    [CAMPAIGNS]: campaign_id,
    [`${AD_ACCOUNT_ID}/adsets`]: adset_id,
    [`${AD_ACCOUNT_ID}/ads`]: adId,
    [`${campaign_id}/adsets`]: adset_id,
    [`${campaign_id}/ads`]: adId,
    [`${adset_id}/ads`]: adId,
  };
  for (const [path, id] of Object.entries(lists)) {
    const count = async (operator: string, value: number) => {
      const filtering = JSON.stringify([{ field: "created_time", operator, value }]);
      return (await ads.get(path, { filtering })).body.data.length;
    };
    const filtering = JSON.stringify([{ field: "name", operator: "EQUAL", value: "match" }]);
    t.strictSame((await ads.get(path, { filtering })).body.data, [{ id }], path);
    t.equal(await count("GREATER_THAN", now - 600), 2, path);
    t.equal(await count("LESS_THAN", now - 600), 0, path);
    t.equal(await count("LESS_THAN", now + 600), 2, path);
  }
});

t.test("an account's lists exclude objects of other accounts", async (t) => {
  const ads = await startAdPlatform(t);
  await ads.create("campaigns");
  const { body } = await ads.get("act_1600000000000102/campaigns", {}, issueAdToken(["1600000000000102"]));
  t.strictSame(body, { data: [] });
});

t.test("an object in place of a text is refused", async (t) => {
  const ads = await startAdPlatform(t);
  await makeNamed(ads, ["one"]);
  const odd = { toString: 1, valueOf: 1 };
  const filter = { field: "name", operator: "EQUAL", value: "one" };
  const filters = ["EQUAL", "CONTAIN", "GREATER_THAN"].map((operator) => ({
    ...filter,
    operator,
    value: odd,
  }));
  const queries = [
    { fields: [odd] },
    { effective_status: [odd] },
    ...[
      ...filters,
      { ...filter, field: odd },
      { ...filter, operator: odd },
      { ...filter, value: [[odd]] },
    ].map((one) => ({ filtering: [one] })),
  ];
  for (const query of queries) {
    const [[name, value] = []] = Object.entries(query);
    const { status, body } = await ads.get(CAMPAIGNS, { [name as string]: JSON.stringify(value) });
    t.equal(status, 400, JSON.stringify(query));
    t.match(body.error, { code: 100 });
  }
  const sort = JSON.stringify([odd]);
  t.match((await ads.get(`${AD_ACCOUNT_ID}/insights`, { sort })).body.error, { code: 100 });
});
