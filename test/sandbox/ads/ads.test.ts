import t from "tap";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  issueAdToken,
  startAdPlatform,
  VALID_FORMS,
} from "../../fixtures/sandbox/ad-platform.ts";
import { startWebhookReceiver } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const ADS = `${AD_ACCOUNT_ID}/ads`;

/** Creates a campaign, an ad set in it with the given fields, and a creative. */
async function makeAdParents(ads: AdPlatform, adSet: Record<string, string> = {}) {
  const campaign_id = await ads.create("campaigns", { status: "ACTIVE" });
  const adset_id = await ads.create("adsets", { campaign_id, status: "ACTIVE", ...adSet });
  const creative_id = await ads.create("adcreatives");
  return { campaign_id, adset_id, creative_id, creative: JSON.stringify({ creative_id }) };
}

t.test("an ad is written with creative_id and read with the creative's id", async (t) => {
  const ads = await startAdPlatform(t);
  const { campaign_id, adset_id, creative_id, creative } = await makeAdParents(ads);
  const id = await ads.create("ads", {
    adset_id,
    creative,
    tracking_specs: '[{"fb_pixel":["42"]}]',
  });
  const { body } = await ads.get(id, {
    fields: "name,adset_id,campaign_id,status,creative,account_id,tracking_specs",
  });
  t.strictSame(body, {
    id,
    name: "A cup in Brazil",
    adset_id,
    campaign_id,
    status: "PAUSED",
    creative: { id: creative_id },
    account_id: "1600000000000101",
    tracking_specs: [{ fb_pixel: ["42"] }],
  });
});

for (const name of ["name", "adset_id", "creative"])
  t.test(`an ad without ${name} is refused`, async (t) => {
    const ads = await startAdPlatform(t);
    const { adset_id, creative } = await makeAdParents(ads);
    const { [name]: _left, ...form } = { ...VALID_FORMS.ads, adset_id, creative } as Record<string, string>;
    const { status, body } = await ads.post(ADS, form);
    t.equal(status, 400);
    t.match(body.error, { code: 100, message: new RegExp(name) });
  });

t.test("an ad requires an ad set and a creative of its own account", async (t) => {
  const ads = await startAdPlatform(t);
  const { adset_id, creative, creative_id } = await makeAdParents(ads);
  const form = { ...VALID_FORMS.ads, adset_id, creative };
  t.match((await ads.post(ADS, { ...form, adset_id: creative_id })).body.error, {
    error_user_title: /Ad Set/,
  });
  for (const odd of ['{"creative_id":"42"}', `{"id":"${creative_id}"}`, `{"creative_id":"${adset_id}"}`])
    t.match(
      (await ads.post(ADS, { ...form, creative: odd })).body.error,
      { code: 100, error_data: '{"blame_field_specs":[["creative"]]}' },
      odd,
    );
  t.match((await ads.post(ADS, { ...form, creative: creative_id })).body.error, { message: /JSON object/ });
  const both = issueAdToken(["1600000000000101", "1600000000000102"]);
  t.match((await ads.post("act_1600000000000102/ads", form, both)).body.error, {
    error_user_title: /Ad Set/,
  });
  t.equal(
    (await ads.post(ADS, { ...form, creative: `{"creative_id":${creative_id}}` })).status,
    200,
    "a bare id",
  );
});

t.test("an ad targeting the European Union requires a payer and a beneficiary", async (t) => {
  const ads = await startAdPlatform(t);
  for (const places of [
    '{"countries":["BR","DE"]}',
    '{"cities":[{"key":"1","country":"FR"}]}',
    '{"country_groups":["eea"]}',
  ]) {
    const targeting = `{"geo_locations":${places}}`;
    const { adset_id, creative } = await makeAdParents(ads, { targeting });
    const { body } = await ads.post(ADS, { ...VALID_FORMS.ads, adset_id, creative });
    t.match(body.error, { code: 100, error_subcode: 3858152 }, places);
    await ads.post(adset_id, { dsa_payor: "Sandbox Coffee" });
    t.match((await ads.post(ADS, { ...VALID_FORMS.ads, adset_id, creative })).body.error, {
      error_subcode: 3858152,
    });
    await ads.post(adset_id, { dsa_beneficiary: "Sandbox Coffee" });
    t.equal((await ads.post(ADS, { ...VALID_FORMS.ads, adset_id, creative })).status, 200);
  }
});

t.test("adset_id is immutable, but the creative can be replaced", async (t) => {
  const ads = await startAdPlatform(t);
  const { adset_id, creative } = await makeAdParents(ads);
  const id = await ads.create("ads", { adset_id, creative });
  t.match((await ads.post(id, { adset_id })).body.error, {
    error_data: { blame_field_specs: [["adset_id"]] },
  });
  const other = await ads.create("adcreatives");
  t.strictSame((await ads.post(id, { creative: `{"creative_id":"${other}"}` })).body, { success: true });
  t.strictSame((await ads.get(id, { fields: "creative" })).body.creative, { id: other });
});

t.test("a deleted or archived ad only accepts a new name", async (t) => {
  const ads = await startAdPlatform(t);
  const { adset_id, creative } = await makeAdParents(ads);
  const id = await ads.create("ads", { adset_id, creative });
  await ads.post(id, { status: "ARCHIVED" });
  t.match((await ads.post(id, { status: "ACTIVE" })).body.error, { code: 100, error_subcode: 1885088 });
  t.equal((await ads.post(id, { name: "Kept" })).status, 200);
  await ads.remove(id);
  t.match((await ads.post(id, { creative })).body.error, { code: 100, error_subcode: 1487056 });
  t.equal((await ads.post(id, { name: "Gone" })).status, 200);
});

t.test("an ad's effective status depends on its ad set and campaign", async (t) => {
  const ads = await startAdPlatform(t);
  const { campaign_id, adset_id, creative } = await makeAdParents(ads);
  const id = await ads.create("ads", { adset_id, creative, status: "ACTIVE" });
  const status = async (node = id) =>
    (await ads.get(node, { fields: "effective_status" })).body.effective_status;
  await until("the ad is active", async () => (await status()) === "ACTIVE");
  await ads.post(adset_id, { status: "PAUSED" });
  t.equal(await status(), "ADSET_PAUSED");
  await ads.post(campaign_id, { status: "PAUSED" });
  t.equal(await status(), "CAMPAIGN_PAUSED");
  t.equal(await status(adset_id), "PAUSED");
  await ads.post(adset_id, { status: "ACTIVE" });
  t.equal(await status(adset_id), "CAMPAIGN_PAUSED");
  await ads.post(id, { status: "PAUSED" });
  t.equal(await status(), "PAUSED");
  await ads.post(campaign_id, { status: "ARCHIVED" });
  t.equal(await status(), "ARCHIVED");
  await ads.remove(campaign_id);
  t.equal(await status(), "DELETED");
});

t.test("an ad in an unsettled account has the status PENDING_BILLING_INFO", async (t) => {
  const ads = await startAdPlatform(t);
  const account = "act_1600000000000108";
  const token = issueAdToken(["1600000000000108"]);
  const make = async (edge: string, form: Record<string, string>) =>
    (await ads.post(`${account}/${edge}`, form, token)).body.id as string;
  const campaign_id = await make("campaigns", { ...VALID_FORMS.campaigns, status: "ACTIVE" });
  const adset_id = await make("adsets", { ...VALID_FORMS.adsets, campaign_id, status: "ACTIVE" });
  const creative = JSON.stringify({ creative_id: await make("adcreatives", VALID_FORMS.adcreatives) });
  const id = await make("ads", { name: "Unpaid", adset_id, creative });
  await until("the review is over", async () => {
    const { body } = await ads.get(id, { fields: "effective_status" }, token);
    return body.effective_status === "PENDING_BILLING_INFO";
  });
});

t.test(
  "an ad whose name starts with `disapprove` is disapproved, and a webhook reports the reason",
  async (t) => {
    const service = await startWebhookReceiver(t);
    const ads = await startAdPlatform(t, { settings: { PUBLIC_URL: service.url } });
    const { adset_id, creative } = await makeAdParents(ads);
    const id = await ads.create("ads", { adset_id, creative, name: "disapprove this" });
    const changes = () =>
      service.received.flatMap(({ body }) => body.entry[0].changes).filter(({ value }) => value.id === id);
    await until("both webhooks arrived", () => changes().length === 2);
    t.match(changes().find(({ field }) => field === "with_issues_ad_objects")?.value, {
      level: "AD",
      error_code: String,
      error_summary: String,
      error_message: String,
    });
    t.match(changes().find(({ field }) => field === "in_process_ad_objects")?.value, {
      status_name: "Disapproved",
    });
    t.equal((await ads.get(id, { fields: "effective_status" })).body.effective_status, "DISAPPROVED");
  },
);

t.test("an ad whose name starts with `fatigue` has creative fatigue, reported by a webhook", async (t) => {
  const service = await startWebhookReceiver(t);
  const ads = await startAdPlatform(t, { settings: { PUBLIC_URL: service.url } });
  const { adset_id, creative } = await makeAdParents(ads);
  const id = await ads.create("ads", { adset_id, creative, name: "fatigue of this" });
  const changes = () => service.received.flatMap(({ body }) => body.entry[0].changes);
  await until("the fatigue is reported", () => changes().some(({ field }) => field === "creative_fatigue"));
  t.strictSame(
    changes().filter(({ field }) => field === "creative_fatigue"),
    [
      {
        field: "creative_fatigue",
        value: {
          ad_account_id: "1600000000000101",
          adgroup_id: id,
          creative_fatigue_level: "HIGH",
          creative_fatigue_message:
            "Your audience has seen this creative too many times. Use a new creative.",
        },
      },
    ],
  );
});

t.test("an object in place of a creative's id or a country does not cause a failure", async (t) => {
  const ads = await startAdPlatform(t);
  const odd = { toString: 1 };
  const campaign_id = await ads.create("campaigns");
  const targeting = JSON.stringify({ geo_locations: { countries: ["BR", odd] } });
  const adset_id = await ads.create("adsets", { campaign_id, targeting });
  const creative_id = await ads.create("adcreatives");
  const createAd = (creative: object) =>
    ads.post(`${AD_ACCOUNT_ID}/ads`, { name: "Odd", adset_id, creative: JSON.stringify(creative) });
  t.match((await createAd({ creative_id: odd })).body.error, { code: 100 });
  t.equal((await createAd({ creative_id })).status, 200);
});
