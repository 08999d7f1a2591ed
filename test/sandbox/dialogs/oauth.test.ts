import t from "tap";
import { OAUTH_REDIRECT, OAUTH_REQUEST, redirectOf, submitDialog } from "../../fixtures/sandbox/dialogs.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";

const sandbox = await startSandbox(t);
const { origin } = sandbox;

const AD_ACCOUNTS = ["1600000000000101", "1600000000000105", "1900000000000109"];

const open = (query: Record<string, string> = OAUTH_REQUEST) =>
  callSandbox(`${origin}/dialog/oauth`, { query });

t.test("the dialog shows the requested permissions, assets and actions", async (t) => {
  const { status, headers, body } = await open();
  t.equal(status, 200);
  t.match(headers.get("content-type"), /^text\/html/);
  for (const permission of ["ads_management", "ads_read", "business_management"])
    t.match(body, `data-permission="${permission}"`);
  for (const id of AD_ACCOUNTS) t.match(body, `data-asset="${id}"`);
  for (const action of ["grant", "cancel"]) t.match(body, `data-action="${action}"`);
  t.match(body, "Continue as Sam Sandbox");
  t.match(body, "Sandbox</strong>", "the page names the sandbox");
});

t.test("the dialog shows only the permissions and assets of the scope", async (t) => {
  const { body } = await open({ ...OAUTH_REQUEST, scope: "pages_show_list" });
  t.match(body, `data-permission="pages_show_list"`);
  t.match(body, `data-asset="1300000000000401"`);
  t.notMatch(body, `data-permission="ads_read"`);
  t.notMatch(body, `data-asset="${AD_ACCOUNTS[0]}"`);
});

t.test("a rerequest shows a note about declined permissions", async (t) => {
  t.notMatch((await open()).body, "declined before");
  t.match((await open({ ...OAUTH_REQUEST, auth_type: "rerequest" })).body, "declined before");
});

t.test("the dialog cannot be framed, cached or scripted, and sends no referrer", async (t) => {
  for (const { headers } of [await open(), await open({})]) {
    t.equal(headers.get("x-frame-options"), "DENY");
    t.equal(headers.get("cache-control"), "no-store");
    t.equal(headers.get("referrer-policy"), "no-referrer");
    const policy = headers.get("content-security-policy") ?? "";
    t.match(policy, "default-src 'none'");
    t.match(policy, "frame-ancestors 'none'");
    t.notMatch(policy, "form-action", "it would block the redirect");
  }
});

t.test("granting redirects with a code and the state", async (t) => {
  const url = await redirectOf(submitDialog(sandbox, { dialog: "oauth", request: OAUTH_REQUEST }));
  t.equal(`${url.origin}${url.pathname}`, OAUTH_REDIRECT);
  t.same([...url.searchParams.keys()], ["code", "state"]);
  t.equal(url.searchParams.get("state"), "st4te");
});

t.test("cancelling redirects with an error and the state", async (t) => {
  const url = await redirectOf(
    submitDialog(sandbox, { dialog: "oauth", request: OAUTH_REQUEST, action: "cancel" }),
  );
  const { error_description: description, ...answer } = Object.fromEntries(url.searchParams);
  t.strictSame(answer, {
    error: "access_denied",
    error_reason: "user_denied",
    error_code: "200",
    state: "st4te",
  });
  t.ok(description);
});

t.test("the redirect keeps its query and a state of any characters", async (t) => {
  const redirect_uri = "http://localhost:3000/back?tenant=a%20b&x";
  const state = `a&b=c "d" <é>+%20`;
  const url = await redirectOf(
    submitDialog(sandbox, { dialog: "oauth", request: { ...OAUTH_REQUEST, redirect_uri, state } }),
  );
  t.ok(url.href.startsWith(`${redirect_uri}&code=`), url.href);
  t.equal(url.searchParams.get("state"), state);
});

t.test("a request without a state gets none back", async (t) => {
  const { state: _none, ...request } = OAUTH_REQUEST;
  const url = await redirectOf(submitDialog(sandbox, { dialog: "oauth", request }));
  t.notOk(url.searchParams.has("state"));
});

const BAD: Record<string, Record<string, string>> = {
  "an unknown client_id": { client_id: "1" },
  "another response_type": { response_type: "token" },
  "no redirect_uri": { redirect_uri: "" },
  "a relative redirect_uri": { redirect_uri: "/back" },
  "a redirect_uri with a fragment": { redirect_uri: `${OAUTH_REDIRECT}#here` },
  "plain http on another host": { redirect_uri: "http://client.example/back" },
  "plain http on a host that only looks local": { redirect_uri: "http://localhost.evil.example/" },
  "a script for a redirect_uri": { redirect_uri: "javascript:alert(1)" },
  "a permission that does not exist": { scope: "ads_read,rule_the_world" },
  "a config_id": { config_id: "1" },
};

for (const [what, change] of Object.entries(BAD))
  t.test(`${what} gets an error page and no redirect`, async (t) => {
    const request = { ...OAUTH_REQUEST, ...change };
    for (const answer of [await open(request), await submitDialog(sandbox, { dialog: "oauth", request })]) {
      t.equal(answer.status, 400);
      t.notOk(answer.headers.has("location"));
      t.match(answer.headers.get("content-type"), /^text\/html/);
      t.match(answer.body, "data-error");
      t.notMatch(answer.body, "<form");
    }
  });

t.test("a request without parameters gets an error page", async (t) => {
  t.equal((await open({})).status, 400);
  t.equal((await callSandbox(`${origin}/dialog/oauth`, { method: "POST" })).status, 400);
});

for (const redirect_uri of ["http://localhost:3000/x", "http://127.0.0.1/x", "https://client.example"])
  t.test(`${redirect_uri} is accepted as redirect_uri`, async (t) => {
    t.equal((await open({ ...OAUTH_REQUEST, redirect_uri })).status, 200);
  });

t.test("a decision that the page does not offer is refused", async (t) => {
  for (const choices of [
    { action: "perhaps" },
    { permissions: ["leads_retrieval"] },
    { expired: ["leads_retrieval"] },
    { assets: ["1500000000000201"] },
  ]) {
    const { status, headers } = await submitDialog(sandbox, {
      dialog: "oauth",
      request: OAUTH_REQUEST,
      ...choices,
    });
    t.equal(status, 400, JSON.stringify(choices));
    t.notOk(headers.has("location"));
  }
});

t.test("all external values are escaped", async (t) => {
  const evil = `"><script>alert('x')</script>`;
  for (const change of [
    { state: evil },
    { redirect_uri: `https://client.example/?${evil}` },
    { scope: evil },
  ]) {
    const { body } = await open({ ...OAUTH_REQUEST, ...change });
    t.notMatch(body, "<script", JSON.stringify(change));
    t.match(body, "&lt;script&gt;");
  }
});

t.test("a body in a format that browsers do not send gets an error page", async (t) => {
  for (const [type, body] of [
    ["application/json", JSON.stringify({ ...OAUTH_REQUEST, action: "grant" })],
    ["application/json", JSON.stringify({ ...OAUTH_REQUEST, client_id: {} })],
    ["application/json", "[]"],
    ["multipart/form-data; boundary=x", "broken"],
    ["text/plain", "action=grant"],
  ] as const) {
    const answer = await callSandbox(`${origin}/dialog/oauth`, { body, headers: { "content-type": type } });
    t.equal(answer.status, 400, body);
    t.match(answer.headers.get("content-type"), /^text\/html/, body);
    t.match(answer.body, "data-error", body);
  }
});
