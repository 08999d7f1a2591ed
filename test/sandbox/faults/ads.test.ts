import t from "tap";
import {
  ACCOUNT,
  type AdPlatform,
  adPlatform,
  DEMO_TOKEN,
  RIGHT,
} from "../../fixtures/sandbox/ad-platform.ts";
import { SANDBOX_SETTINGS, speak } from "../../fixtures/sandbox/sandbox.ts";

const ID = ACCOUNT.replace("act_", "");

const arm = ({ base }: AdPlatform, fault: object) =>
  speak(new URL("/_sandbox/faults", base).href, { json: fault });

const clear = ({ base }: AdPlatform) => speak(new URL("/_sandbox/faults", base).href, { method: "DELETE" });

const debug = ({ base }: AdPlatform) => {
  const { PLATFORM_APP_ID, PLATFORM_APP_SECRET } = SANDBOX_SETTINGS;
  const query = { input_token: DEMO_TOKEN, access_token: `${PLATFORM_APP_ID}|${PLATFORM_APP_SECRET}` };
  return speak(`${base}/debug_token`, { query });
};

t.test("a creation that is broken off was done, or was not", async (t) => {
  const platform = await adPlatform(t);
  const match = { method: "POST", path_prefix: `/${ACCOUNT}/campaigns` };
  for (const kind of ["drop_before", "drop_after"]) {
    await arm(platform, { kind, match });
    const form = { ...RIGHT.campaigns, name: kind };
    await t.rejects(platform.post(`${ACCOUNT}/campaigns`, form), /fetch failed/);
  }
  const { body } = await platform.get(`${ACCOUNT}/campaigns`, { fields: "name" });
  t.same(
    body.data.map(({ name }: { name: string }) => name),
    ["drop_after"],
  );
});

t.test("a throttled account says its own limit and how long", async (t) => {
  const platform = await adPlatform(t);
  await arm(platform, { kind: "throttle", match: { path_prefix: `/${ACCOUNT}` }, ms: 90_000 });
  const { status, body, headers } = await platform.get(`${ACCOUNT}/campaigns`, { fields: "name" });
  t.equal(status, 400);
  t.match(body.error, { code: 80004, error_subcode: 2446079 });
  t.match(JSON.parse(headers.get("x-business-use-case-usage") ?? ""), {
    [ID]: [{ call_count: 100, estimated_time_to_regain_access: 2 }],
  });
  t.match(JSON.parse(headers.get("x-ad-account-usage") ?? ""), { reset_time_duration: 90 });
  t.equal((await platform.get(`${ACCOUNT}/campaigns`)).status, 200);
});

t.test("a token that died is told to be dead, and lives again", async (t) => {
  const platform = await adPlatform(t);
  t.match((await debug(platform)).body.data, { is_valid: true });
  await arm(platform, { kind: "dead_token", match: { path_prefix: `/${ACCOUNT}` }, subcode: 458 });
  t.match((await platform.get(ACCOUNT)).body.error, { code: 190, error_subcode: 458 });
  t.match((await debug(platform)).body.data, { is_valid: false, error: { code: 190, subcode: 458 } });
  await clear(platform);
  t.match((await debug(platform)).body.data, { is_valid: true });
  t.equal((await platform.get(ACCOUNT)).status, 200);
});

t.test("a token that is asked about is the one that dies, not the app's", async (t) => {
  const platform = await adPlatform(t);
  await arm(platform, { kind: "dead_token", match: { path_prefix: "/debug_token" } });
  t.match((await debug(platform)).body.data, { is_valid: false, error: { subcode: 460 } });
  t.equal((await platform.get(ACCOUNT)).body.error.code, 190);
});
