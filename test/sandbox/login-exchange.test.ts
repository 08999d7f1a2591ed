import t from "tap";
import { HOUR, SECOND } from "../../src/runtime/durations.ts";
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
} from "../fixtures/sandbox/dialogs.ts";
import {
  callSandbox,
  SANDBOX_SETTINGS,
  type SandboxAnswer,
  startSandbox,
} from "../fixtures/sandbox/sandbox.ts";

const sandbox = await startSandbox(t);

const CHAT_ACCOUNT = "1500000000000201";

/** Formats the status, code and subcode of a refusal. */
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

t.test("a code is exchanged for a short-lived token", async (t) => {
  const code = await requestOauthCode(sandbox);
  const { status, body } = await exchangeToken(sandbox, { code, redirect_uri: OAUTH_REDIRECT });
  t.equal(status, 200);
  t.equal(body.token_type, "bearer");
  t.ok(body.expires_in >= 3600 && body.expires_in <= 7200);
  t.equal((await callSandbox(`${sandbox.base}/me`, { token: body.access_token })).status, 200);
});

t.test("a code can be exchanged with POST", async (t) => {
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

t.test("a code can be used once", async (t) => {
  const query = { code: await requestOauthCode(sandbox), redirect_uri: OAUTH_REDIRECT };
  t.equal((await exchangeToken(sandbox, query)).status, 200);
  t.same(refusal(await exchangeToken(sandbox, query)), expectedRefusal(100, 36009));
});

t.test("only one of two concurrent exchanges gets the token", async (t) => {
  const query = { code: await requestOauthCode(sandbox), redirect_uri: OAUTH_REDIRECT };
  const answers = await Promise.all([exchangeToken(sandbox, query), exchangeToken(sandbox, query)]);
  t.same(answers.map(({ status }) => status).sort(), [200, 400]);
});

t.test("a code expires after thirty seconds", async (t) => {
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

t.test("the redirect_uri must equal the dialog's exactly", async (t) => {
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
  t.same(refusal(await exchangeToken(sandbox, { code })), expectedRefusal(100, 36008), "no redirect_uri");
  t.equal(
    (await exchangeToken(sandbox, { code, redirect_uri: OAUTH_REDIRECT })).status,
    200,
    "the code is still valid",
  );
});

t.test("an exchange without a code, a known app or a known grant type is refused", async (t) => {
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
  t.equal((await exchangeToken(sandbox, good)).status, 200, "refused exchanges do not consume the code");
});

t.test("a short-lived token is exchanged for one of about sixty days with the same grant", async (t) => {
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

t.test("only a valid token can be exchanged for a long-lived one", async (t) => {
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

t.test("a permanent token is extended without expires_in", async (t) => {
  const { status, body } = await extendToken(sandbox, "EAASandboxDemoAds");
  t.equal(status, 200);
  t.notOk("expires_in" in body);
  t.equal((await debugToken(sandbox, body.access_token)).body.data.expires_at, 0);
});

t.test("a business token has no expires_in, and debug_token shows its expiry", async (t) => {
  const code = await requestChatCode(sandbox, [CHAT_ACCOUNT]);
  const { status, body } = await exchangeToken(sandbox, { code, redirect_uri: SIGNUP_REDIRECT });
  t.equal(status, 200);
  t.strictSame(Object.keys(body).sort(), ["access_token", "token_type"]);
  const { data } = (await debugToken(sandbox, body.access_token)).body;
  t.ok(data.expires_at > Date.now() / SECOND + 50 * 86_400);
});

t.test("a redirect_uri is compared including its query", async (t) => {
  const redirect_uri = "http://localhost:3000/back?tenant=a%20b";
  const answer = await submitDialog(sandbox, {
    dialog: "oauth",
    request: { ...OAUTH_REQUEST, redirect_uri },
  });
  const code = new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? "";
  t.equal((await exchangeToken(sandbox, { code, redirect_uri })).status, 200);
});
