import t from "tap";
import { HOUR } from "../../src/runtime/durations.ts";
import {
  APP_TOKEN,
  debugToken,
  extendToken,
  requestChatToken,
  requestPageManagerToken,
  requestUserToken,
} from "../fixtures/sandbox/dialogs.ts";
import { callSandbox, SANDBOX_SETTINGS, startSandbox } from "../fixtures/sandbox/sandbox.ts";

const sandbox = await startSandbox(t);

const PERSON = "1700000000000042";
const CHAT_ACCOUNTS = ["1500000000000201", "1500000000000202"];
const PAGES = { coffee: "1300000000000401", sushi: "1300000000000403" };

t.test("a valid token is described with its times, its person and its permissions", async (t) => {
  const sandbox = await startSandbox(t, { now: () => 1_790_000_000_000 });
  const token = await requestUserToken(sandbox, {
    permissions: ["ads_management"],
    assets: ["1600000000000101"],
  });
  const { status, body } = await debugToken(sandbox, token);
  t.equal(status, 200);
  t.strictSame(body, {
    data: {
      app_id: SANDBOX_SETTINGS.PLATFORM_APP_ID,
      type: "USER",
      application: "Herald",
      is_valid: true,
      issued_at: 1_790_000_000,
      expires_at: 1_790_005_400,
      data_access_expires_at: 1_797_776_000,
      user_id: PERSON,
      scopes: ["ads_management"],
      granular_scopes: [{ scope: "ads_management" }],
    },
  });
});

t.test("the chat permissions have the chosen chat accounts as targets", async (t) => {
  const { data } = (await debugToken(sandbox, await requestChatToken(sandbox, CHAT_ACCOUNTS.slice(1)))).body;
  t.strictSame(data.granular_scopes, [
    { scope: "whatsapp_business_management", target_ids: ["1500000000000202"] },
    { scope: "whatsapp_business_messaging", target_ids: ["1500000000000202"] },
    { scope: "business_management" },
  ]);
});

t.test("the page permissions have the chosen pages and their photo accounts as targets", async (t) => {
  const token = await requestPageManagerToken(sandbox, {
    permissions: ["pages_show_list", "instagram_basic"],
    assets: [PAGES.coffee, PAGES.sushi],
  });
  t.strictSame((await debugToken(sandbox, token)).body.data.granular_scopes, [
    { scope: "pages_show_list", target_ids: [PAGES.coffee, PAGES.sushi] },
    { scope: "instagram_basic", target_ids: ["1200000000000501"] },
  ]);
});

t.test("a permanent token has expires_at 0", async (t) => {
  for (const [token, type] of [
    ["EAASandboxDemoAds", "USER"],
    ["EAASandboxDemoPage", "PAGE"],
  ] as const) {
    const { data } = (await debugToken(sandbox, token)).body;
    t.equal(data.expires_at, 0);
    t.equal(data.type, type);
  }
});

t.test("the app's own token is valid and has no permissions", async (t) => {
  const { data } = (await debugToken(sandbox, APP_TOKEN)).body;
  t.match(data, { is_valid: true, type: "APP", scopes: [] });
});

t.test("an unknown token is described as invalid with status 200", async (t) => {
  const { status, body } = await debugToken(sandbox, "EAASandboxforged.forged");
  t.equal(status, 200);
  t.equal(body.data.is_valid, false);
  t.equal(body.data.error.code, 190);
  t.type(body.data.error.message, "string");
  t.strictSame(body.data.scopes, []);
});

t.test("an expired token is described with its error", async (t) => {
  let time = Date.now();
  const sandbox = await startSandbox(t, { now: () => time });
  const token = await requestUserToken(sandbox);
  time += 2 * HOUR;
  const { status, body } = await debugToken(sandbox, token);
  t.equal(status, 200);
  t.match(body.data, { is_valid: false, user_id: PERSON, error: { code: 190, subcode: 463 } });
  t.match((await callSandbox(`${sandbox.base}/me`, { token })).body.error, { code: 190, error_subcode: 463 });
});

t.test("a token of a person who removed the app is described with its error", async (t) => {
  const token = await requestUserToken(sandbox);
  await callSandbox(`${sandbox.base}/me/permissions`, { method: "DELETE", token });
  const { status, body } = await debugToken(sandbox, token);
  t.equal(status, 200);
  t.match(body.data, { is_valid: false, error: { code: 190, subcode: 458 } });
});

t.test("debug_token requires the app's token and an input_token", async (t) => {
  const address = `${sandbox.base}/debug_token`;
  const query = { input_token: "EAASandboxDemoAds" };
  t.equal((await callSandbox(address, { token: "EAASandboxDemoAds", query })).status, 401);
  t.equal((await callSandbox(address, { query })).body.error.code, 104);
  t.equal((await callSandbox(address, { query: { access_token: APP_TOKEN } })).body.error.code, 100);
});

t.test("a name that every object inherits is not a token", async (t) => {
  for (const word of ["constructor", "__proto__", "toString"]) {
    t.match(await callSandbox(`${sandbox.base}/me`, { token: word }), {
      status: 401,
      body: { error: { code: 190 } },
    });
    t.match((await debugToken(sandbox, word)).body, { data: { is_valid: false, error: { code: 190 } } });
    t.match(await extendToken(sandbox, word), { status: 401, body: { error: { code: 190 } } });
  }
});
