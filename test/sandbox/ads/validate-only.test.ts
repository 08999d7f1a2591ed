import t from "tap";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  startAdPlatform,
  VALID_FORMS,
} from "../../fixtures/sandbox/ad-platform.ts";
import { startWebhookReceiver } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

type Form = Record<string, string>;
type Edge = keyof typeof VALID_FORMS;

const VALIDATE_ONLY = { execution_options: '["validate_only"]' };
const INVALID_STORY = '{"page_id":"1300000000000401"}';

/** A valid and an invalid update of each kind, and an invalid creation. */
const CASES: Record<Edge, { invalid: Form; update: Form; invalidUpdate: Form }> = {
  campaigns: {
    invalid: { objective: "REACH" },
    update: { name: "Summer", status: "ACTIVE", special_ad_categories: '["HOUSING"]' },
    invalidUpdate: { daily_budget: "1" },
  },
  adsets: {
    invalid: { targeting: "{}" },
    update: { name: "Chile", daily_budget: "2000", targeting: '{"geo_locations":{"countries":["CL"]}}' },
    invalidUpdate: { daily_budget: "1" },
  },
  adcreatives: {
    invalid: { object_story_spec: INVALID_STORY },
    update: { name: "Another cup", adlabels: '[{"name":"spring"}]' },
    invalidUpdate: { object_story_spec: INVALID_STORY },
  },
  ads: {
    invalid: { creative: '{"creative_id":"42"}' },
    update: { name: "A cup in Chile", status: "ACTIVE" },
    invalidUpdate: { creative: '{"creative_id":"42"}' },
  },
};

/** Creates the parents that an object of the edge needs and returns a valid form for it. */
async function validForm(ads: AdPlatform, edge: Edge): Promise<Form> {
  const parents: Form = {};
  if (edge === "adsets" || edge === "ads") parents.campaign_id = await ads.create("campaigns");
  if (edge === "ads") {
    parents.adset_id = await ads.create("adsets", parents);
    parents.creative = JSON.stringify({ creative_id: await ads.create("adcreatives") });
  }
  return { ...VALID_FORMS[edge], ...parents };
}

for (const edge of ["campaigns", "adsets", "adcreatives", "ads"] as const) {
  const { invalid, update, invalidUpdate } = CASES[edge];

  t.test(`validate_only checks a creation in ${edge} and creates nothing`, async (t) => {
    const service = await startWebhookReceiver(t);
    const ads = await startAdPlatform(t, { settings: { PUBLIC_URL: service.url } });
    const form = { ...(await validForm(ads, edge)), ...VALIDATE_ONLY };
    const path = `${AD_ACCOUNT_ID}/${edge}`;
    t.strictSame((await ads.post(path, form)).body, { success: true });
    t.match((await ads.post(path, { ...form, ...invalid })).body.error, { code: 100 });
    t.strictSame((await ads.get(path)).body, { data: [] });
    const lastId = await ads.create("campaigns");
    const reviewed = () => service.received.map(({ body }) => body.entry[0].changes[0].value);
    await until("the last review is reported", () => reviewed().some(({ id }) => id === lastId));
    const level = { campaigns: "CAMPAIGN", adsets: "AD_SET", ads: "AD", adcreatives: "CREATIVE" }[edge];
    const others = reviewed().filter((value) => value.level === level && value.id !== lastId);
    t.strictSame(others, [], "no webhook reports a review");
  });

  t.test(`validate_only checks an update of ${edge} and changes nothing`, async (t) => {
    const ads = await startAdPlatform(t);
    const id = await ads.create(edge, await validForm(ads, edge));
    const fields = Object.keys(update).join();
    const before = (await ads.get(id, { fields })).body;
    t.strictSame((await ads.post(id, { ...update, ...VALIDATE_ONLY })).body, { success: true });
    t.match((await ads.post(id, { ...invalidUpdate, ...VALIDATE_ONLY })).body.error, { code: 100 });
    t.strictSame((await ads.get(id, { fields })).body, before);
    await ads.post(id, update);
    t.notSame((await ads.get(id, { fields })).body, before, "the same update without validate_only");
  });
}

t.test("validate_only checks the limit of budget changes and does not count", async (t) => {
  const ads = await startAdPlatform(t, { pace: 1 });
  const id = await ads.create("adsets", await validForm(ads, "adsets"));
  const validate = () => ads.post(id, { daily_budget: "9000", ...VALIDATE_ONLY });
  for (let call = 0; call < 5; call++) t.strictSame((await validate()).body, { success: true });
  for (const daily_budget of ["2000", "3000", "4000", "5000"])
    t.equal((await ads.post(id, { daily_budget })).status, 200);
  t.match((await validate()).body.error, { code: 613, error_subcode: 1487632 });
  t.strictSame((await ads.get(id, { fields: "daily_budget" })).body, { id, daily_budget: "5000" });
});

t.test("execution_options that are not a list are refused and change nothing", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns");
  const { body } = await ads.post(id, { name: "Summer", execution_options: "validate_only" });
  t.match(body.error, { code: 100, message: /execution_options/ });
  t.strictSame((await ads.get(id, { fields: "name" })).body, { id, name: "Spring" });
});
