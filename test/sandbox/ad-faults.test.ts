import t from "tap";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  DEMO_ADS_TOKEN,
  startAdPlatform,
  VALID_FORMS,
} from "../fixtures/sandbox/ad-platform.ts";
import { callSandbox, SANDBOX_SETTINGS } from "../fixtures/sandbox/sandbox.ts";

const ACCOUNT_ID = AD_ACCOUNT_ID.replace("act_", "");

const arm = ({ base }: AdPlatform, fault: object) =>
  callSandbox(new URL("/_sandbox/faults", base).href, { json: fault });

const clearFaults = ({ base }: AdPlatform) =>
  callSandbox(new URL("/_sandbox/faults", base).href, { method: "DELETE" });

const debug = ({ base }: AdPlatform) => {
  const { PLATFORM_APP_ID, PLATFORM_APP_SECRET } = SANDBOX_SETTINGS;
  const query = { input_token: DEMO_ADS_TOKEN, access_token: `${PLATFORM_APP_ID}|${PLATFORM_APP_SECRET}` };
  return callSandbox(`${base}/debug_token`, { query });
};

t.test("drop_before prevents a creation, and drop_after executes it", async (t) => {
  const platform = await startAdPlatform(t);
  const match = { method: "POST", path_prefix: `/${AD_ACCOUNT_ID}/campaigns` };
  for (const kind of ["drop_before", "drop_after"]) {
    await arm(platform, { kind, match });
    const form = { ...VALID_FORMS.campaigns, name: kind };
    await t.rejects(platform.post(`${AD_ACCOUNT_ID}/campaigns`, form), /fetch failed/);
  }
  const { body } = await platform.get(`${AD_ACCOUNT_ID}/campaigns`, { fields: "name" });
  t.same(
    body.data.map(({ name }: { name: string }) => name),
    ["drop_after"],
  );
});

t.test("a throttled account's error has the account's own code and waiting time", async (t) => {
  const platform = await startAdPlatform(t);
  await arm(platform, { kind: "throttle", match: { path_prefix: `/${AD_ACCOUNT_ID}` }, ms: 90_000 });
  const { status, body, headers } = await platform.get(`${AD_ACCOUNT_ID}/campaigns`, { fields: "name" });
  t.equal(status, 400);
  t.match(body.error, { code: 80004, error_subcode: 2446079 });
  t.match(JSON.parse(headers.get("x-business-use-case-usage") ?? ""), {
    [ACCOUNT_ID]: [{ call_count: 100, estimated_time_to_regain_access: 2 }],
  });
  t.match(JSON.parse(headers.get("x-ad-account-usage") ?? ""), { reset_time_duration: 90 });
  t.equal((await platform.get(`${AD_ACCOUNT_ID}/campaigns`)).status, 200);
});

t.test("a dead token is reported as invalid until the faults are cleared", async (t) => {
  const platform = await startAdPlatform(t);
  t.match((await debug(platform)).body.data, { is_valid: true });
  await arm(platform, { kind: "dead_token", match: { path_prefix: `/${AD_ACCOUNT_ID}` }, subcode: 458 });
  t.match((await platform.get(AD_ACCOUNT_ID)).body.error, { code: 190, error_subcode: 458 });
  t.match((await debug(platform)).body.data, { is_valid: false, error: { code: 190, subcode: 458 } });
  await clearFaults(platform);
  t.match((await debug(platform)).body.data, { is_valid: true });
  t.equal((await platform.get(AD_ACCOUNT_ID)).status, 200);
});

t.test("dead_token affects the inspected token, not the app's", async (t) => {
  const platform = await startAdPlatform(t);
  await arm(platform, { kind: "dead_token", match: { path_prefix: "/debug_token" } });
  t.match((await debug(platform)).body.data, { is_valid: false, error: { subcode: 460 } });
  t.equal((await platform.get(AD_ACCOUNT_ID)).body.error.code, 190);
});
