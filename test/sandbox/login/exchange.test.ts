import t from "tap";
import { HOUR, SECOND } from "../../../src/runtime/durations.ts";
import {
  debugToken,
  exchangeToken,
  extendToken,
  OAUTH_REDIRECT,
  OAUTH_REQUEST,
  requestChatCode,
  requestOauthCode,
  requestUserToken,
  SIGNUP_REDIRECT,
  submitDialog,
} from "../../fixtures/sandbox/dialogs.ts";
import {
  callSandbox,
  SANDBOX_SETTINGS,
  type SandboxAnswer,
  startSandbox,
} from "../../fixtures/sandbox/sandbox.ts";

const sandbox = await startSandbox(t);

const CHAT_ACCOUNT = "1500000000000201";

/** Status, code and subcode of a refusal. */
const refusal = ({ status, body }: SandboxAnswer) => {
  const { type, code, error_subcode: subcode = null } = body.error;
  return { status, type, code, subcode };
};

const expectedRefusal = (code: number, subcode: number | null = null, status = 400) => ({
  status,
  type: "OAuthException",
  code,
  subcode,
});

t.test("a code becomes a token of an hour or two", async (t) => {
  const code = await requestOauthCode(sandbox);
  const { status, body } = await exchangeToken(sandbox, { code, redirect_uri: OAUTH_REDIRECT });
  t.equal(status, 200);
  t.equal(body.token_type, "bearer");
  t.ok(body.expires_in >= 3600 && body.expires_in <= 7200);
  t.equal((await callSandbox(`${sandbox.base}/me`, { token: body.access_token })).status, 200);
});

t.test("a code can be exchanged by a POST too", async (t) => {
  const form = {
    client_id: SANDBOX_SETTINGS.PLATFORM_APP_ID,
    client_secret: SANDBOX_SETTINGS.PLATFORM_APP_SECRET,
    redirect_uri: OAUTH_REDIRECT,
    code: await requestOauthCode(sandbox),
  };
  const { status, body } = await callSandbox(`${sandbox.base}/oauth/access_token`, { form });
  t.equal(status, 200);
  t.match(body.access_token, /^EAA/);
});

t.test("a code is good once", async (t) => {
  const query = { code: await requestOauthCode(sandbox), redirect_uri: OAUTH_REDIRECT };
  t.equal((await exchangeToken(sandbox, query)).status, 200);
  t.same(refusal(await exchangeToken(sandbox, query)), expectedRefusal(100, 36009));
});

t.test("of two exchanges at once one gets the token", async (t) => {
  const query = { code: await requestOauthCode(sandbox), redirect_uri: OAUTH_REDIRECT };
  const answers = await Promise.all([exchangeToken(sandbox, query), exchangeToken(sandbox, query)]);
  t.same(answers.map(({ status }) => status).sort(), [200, 400]);
});

t.test("a code lives for thirty seconds", async (t) => {
  let time = Date.now();
  const sandbox = await startSandbox(t, { now: () => time });
  const [early, late] = [await requestOauthCode(sandbox), await requestOauthCode(sandbox)];
  time += 30 * SECOND;
  t.equal((await exchangeToken(sandbox, { code: early, redirect_uri: OAUTH_REDIRECT })).status, 200);
  time += 1;
  t.same(
    refusal(await exchangeToken(sandbox, { code: late, redirect_uri: OAUTH_REDIRECT })),
    expectedRefusal(100, 36007),
  );
});

t.test("the redirect_uri is the dialog's, byte for byte", async (t) => {
  const code = await requestOauthCode(sandbox);
  for (const redirect_uri of [
    `${OAUTH_REDIRECT}/`,
    OAUTH_REDIRECT.toUpperCase(),
    `${OAUTH_REDIRECT}?a=1`,
    "",
  ])
    t.same(
      refusal(await exchangeToken(sandbox, { code, redirect_uri })),
      expectedRefusal(100, 36008),
      redirect_uri,
    );
  t.same(refusal(await exchangeToken(sandbox, { code })), expectedRefusal(100, 36008), "none");
  t.equal(
    (await exchangeToken(sandbox, { code, redirect_uri: OAUTH_REDIRECT })).status,
    200,
    "and still good",
  );
});

t.test("an exchange that names no code, no known app or no known way is refused", async (t) => {
  const good = { code: await requestOauthCode(sandbox), redirect_uri: OAUTH_REDIRECT };
  const { code: _code, ...withoutCode } = good;
  for (const [query, expected] of [
    [{ ...good, client_id: "1" }, expectedRefusal(101)],
    [{ ...good, client_secret: "guess" }, expectedRefusal(1)],
    [{ ...good, client_secret: "" }, expectedRefusal(1)],
    [{ ...good, code: "AQinvented" }, expectedRefusal(100)],
    [withoutCode, expectedRefusal(100)],
    [{ ...good, grant_type: "password" }, expectedRefusal(100)],
    [{ ...good, grant_type: "toString" }, expectedRefusal(100)],
  ] as const)
    t.same(refusal(await exchangeToken(sandbox, query)), expected, JSON.stringify(query));
  t.equal((await exchangeToken(sandbox, good)).status, 200, "none of them burned the code");
});

t.test("a short-lived token becomes one of about sixty days, with the same grant", async (t) => {
  const short = await requestUserToken(sandbox, { permissions: ["ads_read"], assets: ["1600000000000101"] });
  const { status, body } = await extendToken(sandbox, short);
  t.equal(status, 200);
  t.equal(body.token_type, "bearer");
  t.ok(Math.abs(body.expires_in - 60 * 86_400) < 86_400);
  t.not(body.access_token, short);
  const permissions = await callSandbox(`${sandbox.base}/me/permissions`, { token: body.access_token });
  t.same(permissions.body.data[0], { permission: "ads_read", status: "granted" });
  const accounts = await callSandbox(`${sandbox.base}/me/adaccounts`, { token: body.access_token });
  t.same(accounts.body.data, [{ account_id: "1600000000000101", id: "act_1600000000000101" }]);
});

t.test("only a token that is alive becomes a long-lived one", async (t) => {
  let time = Date.now();
  const sandbox = await startSandbox(t, { now: () => time });
  const [removed, old] = [await requestUserToken(sandbox), await requestUserToken(sandbox)];
  await callSandbox(`${sandbox.base}/me/permissions`, { method: "DELETE", token: removed });
  t.same(refusal(await extendToken(sandbox, removed)), expectedRefusal(190, 458, 401));
  time += 2 * HOUR;
  t.same(refusal(await extendToken(sandbox, old)), expectedRefusal(190, 463, 401));
  t.same(refusal(await extendToken(sandbox, "EAAinvented")), expectedRefusal(190, null, 401));
  t.same(refusal(await exchangeToken(sandbox, { grant_type: "fb_exchange_token" })), expectedRefusal(100));
});

t.test("a token that never ends is prolonged without expires_in", async (t) => {
  const { status, body } = await extendToken(sandbox, "EAASandboxDemoAds");
  t.equal(status, 200);
  t.notOk("expires_in" in body);
  t.equal((await debugToken(sandbox, body.access_token)).body.data.expires_at, 0);
});

t.test("a business's token comes without expires_in, and debug_token knows its end", async (t) => {
  const code = await requestChatCode(sandbox, [CHAT_ACCOUNT]);
  const { status, body } = await exchangeToken(sandbox, { code, redirect_uri: SIGNUP_REDIRECT });
  t.equal(status, 200);
  t.strictSame(Object.keys(body).sort(), ["access_token", "token_type"]);
  const { data } = (await debugToken(sandbox, body.access_token)).body;
  t.ok(data.expires_at > Date.now() / SECOND + 50 * 86_400);
});

t.test("a redirect_uri with a query of its own is compared with it", async (t) => {
  const redirect_uri = "http://localhost:3000/back?tenant=a%20b";
  const answer = await submitDialog(sandbox, {
    dialog: "oauth",
    request: { ...OAUTH_REQUEST, redirect_uri },
  });
  const code = new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? "";
  t.equal((await exchangeToken(sandbox, { code, redirect_uri })).status, 200);
});
