import t from "tap";
import {
  AD_ACCOUNT_ID,
  DEMO_ADS_TOKEN,
  issueAdToken,
  startAdPlatform,
  VALID_FORMS,
} from "../../fixtures/sandbox/ad-platform.ts";
import { callSandbox, startWebhookReceiver } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const FIELDS = "id,account_id,name,account_status,currency,timezone_name,business{id,name},business_name";

t.test("an account includes its business", async (t) => {
  const ads = await startAdPlatform(t);
  t.strictSame((await ads.get(AD_ACCOUNT_ID, { fields: FIELDS })).body, {
    id: AD_ACCOUNT_ID,
    account_id: "1600000000000101",
    name: "Sandbox Coffee",
    account_status: 1,
    currency: "BRL",
    timezone_name: "America/Sao_Paulo",
    business: { id: "1700000000000009", name: "Sandbox Coffee Ltda" },
  });
  t.strictSame((await ads.get(AD_ACCOUNT_ID)).body, { account_id: "1600000000000101", id: AD_ACCOUNT_ID });
});

t.test("business is absent for a personal account and hidden without business_management", async (t) => {
  const ads = await startAdPlatform(t);
  const personal = issueAdToken(["1600000000000105"], ["ads_read", "business_management"]);
  const { body } = await ads.get("act_1600000000000105", { fields: FIELDS }, personal);
  t.equal(body.business_name, "Sam S.");
  t.notOk("business" in body);
  const reader = issueAdToken(["1600000000000101"], ["ads_read"]);
  t.notOk("business" in (await ads.get(AD_ACCOUNT_ID, { fields: FIELDS }, reader)).body);
});

t.test("an account outside the grant is reported as missing", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns");
  const other = issueAdToken(["1600000000000102"]);
  for (const node of ["act_1600000000000102", "act_42", "120000000000000000"])
    t.match((await ads.get(node)).body.error, { code: 100, error_subcode: 33 }, node);
  t.match((await ads.get(id, {}, other)).body.error, { code: 100, error_subcode: 33 });
  t.match((await ads.post(`${AD_ACCOUNT_ID}/campaigns`, VALID_FORMS.campaigns, other)).body.error, {
    error_subcode: 33,
  });
});

t.test("reading requires ads_read or ads_management, writing requires ads_management", async (t) => {
  const ads = await startAdPlatform(t);
  const assets = ["1600000000000101"];
  for (const scope of ["ads_read", "ads_management"])
    t.equal(
      (await ads.get(`${AD_ACCOUNT_ID}/campaigns`, {}, issueAdToken(assets, [scope]))).status,
      200,
      scope,
    );
  const none = await ads.get(`${AD_ACCOUNT_ID}/campaigns`, {}, issueAdToken(assets, ["business_management"]));
  t.equal(none.status, 403);
  t.match(none.body.error, { code: 200 });
  const reader = await ads.post(
    `${AD_ACCOUNT_ID}/campaigns`,
    VALID_FORMS.campaigns,
    issueAdToken(assets, ["ads_read"]),
  );
  t.match(reader.body.error, { code: 294 });
});

t.test("every call to an account whose id starts with 190 fails with a dead token", async (t) => {
  const ads = await startAdPlatform(t);
  const dead = "act_1900000000000109";
  for (const answer of [
    await ads.get(dead, { fields: "name" }),
    await ads.get(`${dead}/campaigns`),
    await ads.post(`${dead}/campaigns`, VALID_FORMS.campaigns),
    await ads.post(`${dead}/subscribed_apps`, {}, issueAdToken(["1900000000000109"])),
  ]) {
    t.equal(answer.status, 401);
    t.match(answer.body.error, { code: 190, error_subcode: 460 });
  }
});

t.test("every answer, including a refusal, has headers with the account's quota usage", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("campaigns");
  for (const answer of [await ads.get(id), await ads.post(id, { status: "RUNNING" })]) {
    const usage = JSON.parse(answer.headers.get("x-business-use-case-usage") ?? "{}");
    t.match(usage, { "1600000000000101": [{ type: "ads_management", estimated_time_to_regain_access: 0 }] });
  }
});

t.test("an account's changes are sent as webhooks only while the app is subscribed", async (t) => {
  const service = await startWebhookReceiver(t);
  const ads = await startAdPlatform(t, { settings: { PUBLIC_URL: service.url } });
  const path = `${AD_ACCOUNT_ID}/subscribed_apps`;
  t.strictSame((await ads.remove(path)).body, { success: true });
  t.strictSame((await ads.get(path)).body, { data: [] });
  const unreportedId = await ads.create("campaigns");
  await until("the review is over", async () => {
    const { body } = await ads.get(unreportedId, { fields: "effective_status" });
    return body.effective_status === "PAUSED";
  });
  t.strictSame((await ads.post(path)).body, { success: true });
  t.match((await ads.get(path)).body, { data: [{ id: "1900000000000001" }] });
  const id = await ads.create("campaigns");
  await until("a webhook arrived", () => service.received.length === 1);
  t.match(service.received[0]?.body, {
    object: "ad_account",
    entry: [
      {
        id: "1600000000000101",
        time: Number,
        changes: [
          { field: "in_process_ad_objects", value: { id, level: "CAMPAIGN", status_name: "Paused" } },
        ],
      },
    ],
  });
});

t.test("an outdated API version is refused with code 2635", async (t) => {
  const ads = await startAdPlatform(t);
  const old = ads.base.replace(/v\d+\.\d+$/, "v2.0");
  t.not(old, ads.base);
  for (const path of [AD_ACCOUNT_ID, `${AD_ACCOUNT_ID}/campaigns`, "me"])
    t.match(await callSandbox(`${old}/${path}`, { token: DEMO_ADS_TOKEN }), {
      status: 400,
      body: { error: { code: 2635, message: /deprecated version/ } },
    });
});
