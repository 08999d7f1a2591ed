import t from "tap";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  DEMO_ADS_TOKEN,
  issueAdToken,
  startAdPlatform,
} from "../../fixtures/sandbox/ad-platform.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";

const [JPY_ACCOUNT_ID, DEAD_TOKEN_ACCOUNT_ID] = ["1600000000000104", "1900000000000109"];

const readCap = async (ads: AdPlatform, account = AD_ACCOUNT_ID, token = DEMO_ADS_TOKEN) =>
  (await ads.get(account, { fields: "spend_cap" }, token)).body.spend_cap;

t.test("an account's spend cap is written in major units and read in minor units", async (t) => {
  const ads = await startAdPlatform(t);
  t.equal(await readCap(ads), "0", "no cap by default");
  for (const [written, read] of [
    ["100", "10000"],
    ["99.9", "9990"],
    ["0.29", "29"],
    ["9999999999999.99", "999999999999999"],
    ["0", "0"],
  ] as const) {
    t.strictSame((await ads.post(AD_ACCOUNT_ID, { spend_cap: written })).body, { success: true });
    t.equal(await readCap(ads), read, written);
  }
  const json = { spend_cap: 12.5 };
  t.equal((await callSandbox(`${ads.base}/${AD_ACCOUNT_ID}`, { token: DEMO_ADS_TOKEN, json })).status, 200);
  const { body } = await ads.get("me/adaccounts", { fields: "spend_cap" });
  t.strictSame(body.data, [{ spend_cap: "1250", id: AD_ACCOUNT_ID }], "also in the list of accounts");
});

t.test("the spend cap of an account whose currency has no minor unit is a whole amount", async (t) => {
  const ads = await startAdPlatform(t);
  const [account, token] = [`act_${JPY_ACCOUNT_ID}`, issueAdToken([JPY_ACCOUNT_ID])];
  t.equal((await ads.post(account, { spend_cap: "5000" }, token)).status, 200);
  t.match((await ads.post(account, { spend_cap: "5000.5" }, token)).body.error, { code: 100 });
  t.equal(await readCap(ads, account, token), "5000");
});

t.test("an invalid spend cap is refused and changes nothing", async (t) => {
  const ads = await startAdPlatform(t);
  for (const spend_cap of ["-1", "much", "", "1.234", "1e3", "1,5", "Infinity", "1".repeat(14), "[]"]) {
    const { status, body } = await ads.post(AD_ACCOUNT_ID, { spend_cap });
    t.equal(status, 400, spend_cap);
    t.match(body.error, { code: 100, message: /spend_cap/ });
  }
  t.equal(await readCap(ads), "0");
});

t.test("changing the spend cap requires ads_management and a live token", async (t) => {
  const ads = await startAdPlatform(t);
  const reader = issueAdToken([AD_ACCOUNT_ID.slice(4)], ["ads_read"]);
  t.match((await ads.post(AD_ACCOUNT_ID, { spend_cap: "1" }, reader)).body.error, { code: 294 });
  const dead = await ads.post(`act_${DEAD_TOKEN_ACCOUNT_ID}`, { spend_cap: "1" });
  t.match(dead.body.error, { code: 190, error_subcode: 460 });
  t.equal(await readCap(ads), "0");
});

t.test("the spend cap of an account can be changed at most ten times a day", async (t) => {
  const ads = await startAdPlatform(t, { pace: 1 });
  for (let cap = 1; cap <= 10; cap++)
    t.equal((await ads.post(AD_ACCOUNT_ID, { spend_cap: String(cap) })).status, 200);
  t.equal((await ads.post(AD_ACCOUNT_ID, { spend_cap: "10" })).status, 200, "an equal cap is not a change");
  const { status, body } = await ads.post(AD_ACCOUNT_ID, { spend_cap: "11" });
  t.equal(status, 400);
  t.match(body.error, { code: 17, error_subcode: 1885172, error_user_msg: String });
  t.equal(await readCap(ads), "1000");
  const other = issueAdToken([JPY_ACCOUNT_ID]);
  t.equal(
    (await ads.post(`act_${JPY_ACCOUNT_ID}`, { spend_cap: "11" }, other)).status,
    200,
    "another account",
  );
});

t.test("two sandboxes in one process have their own spend caps and limits", async (t) => {
  const [first, second] = [await startAdPlatform(t, { pace: 1 }), await startAdPlatform(t, { pace: 1 })];
  for (let cap = 1; cap <= 10; cap++) await first.post(AD_ACCOUNT_ID, { spend_cap: String(cap) });
  t.equal(await readCap(second), "0");
  t.equal((await second.post(AD_ACCOUNT_ID, { spend_cap: "11" })).status, 200);
  t.equal(await readCap(first), "1000");
});
