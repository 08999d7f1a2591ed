import t from "tap";
import {
  CHAT_SIGNUP_REQUEST,
  PAGE_SIGNUP_REQUEST,
  redirectOf,
  requestChatToken,
  requestPageManagerToken,
  SIGNUP_REDIRECT,
  submitDialog,
} from "../../fixtures/sandbox/dialogs.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";

const sandbox = await startSandbox(t);
const { origin } = sandbox;

const CHAT_ACCOUNTS = ["1500000000000201", "1500000000000202"];
const PAGE = "1300000000000401";

const open = (query: Record<string, string>) => callSandbox(`${origin}/dialog/signup`, { query });

t.test("chat signup shows the accounts with their numbers, and the prefilled name", async (t) => {
  const { status, body } = await open(CHAT_SIGNUP_REQUEST);
  t.equal(status, 200);
  for (const id of CHAT_ACCOUNTS) t.match(body, `data-asset="${id}"`);
  t.match(body, "+55 11 90000-0301");
  t.match(body, "+1 555-010-0304");
  t.match(body, "Café &amp; Söhne");
  for (const action of ["grant", "cancel"]) t.match(body, `data-action="${action}"`);
});

t.test("chat signup grants all of its permissions for the chosen accounts", async (t) => {
  const { body } = await callSandbox(`${sandbox.base}/me/permissions`, {
    token: await requestChatToken(sandbox, CHAT_ACCOUNTS),
  });
  t.strictSame(
    body.data,
    ["whatsapp_business_management", "whatsapp_business_messaging", "business_management"].map(
      (permission) => ({ permission, status: "granted" }),
    ),
  );
});

t.test("the app is not subscribed to a newly granted asset until it subscribes", async (t) => {
  const [account] = CHAT_ACCOUNTS as [string];
  const token = await requestChatToken(sandbox, [account]);
  const address = `${sandbox.base}/${account}/subscribed_apps`;
  t.same((await callSandbox(address, { token })).body.data, []);
  t.same((await callSandbox(address, { method: "POST", token })).body, { success: true });
  t.equal((await callSandbox(address, { token })).body.data.length, 1);
});

t.test("page signup shows permissions and pages, and single permissions can be declined", async (t) => {
  const { body } = await open(PAGE_SIGNUP_REQUEST);
  t.match(body, `data-permission="pages_messaging"`);
  t.match(body, `data-asset="${PAGE}"`);
  t.notMatch(body, `data-asset="${CHAT_ACCOUNTS[0]}"`);
  const token = await requestPageManagerToken(sandbox, { permissions: ["pages_show_list"], assets: [PAGE] });
  const permissions = (await callSandbox(`${sandbox.base}/me/permissions`, { token })).body.data;
  t.match(permissions[0], { permission: "pages_show_list", status: "granted" });
  t.same(
    permissions.slice(1).map(({ status }: { status: string }) => status),
    ["declined", "declined", "declined", "declined"],
  );
});

t.test("a declined permission stays declined when the page is shown again", async (t) => {
  const { body } = await submitDialog(sandbox, {
    dialog: "signup",
    request: PAGE_SIGNUP_REQUEST,
    permissions: ["pages_show_list"],
  });
  t.match(body, /data-permission="pages_show_list" checked>/);
  t.match(body, /data-permission="pages_messaging">/);
  t.match(body, `data-asset="${PAGE}">`, "a page that was not chosen stays unchosen");
  t.match(body, /id="problem"[^>]*>Choose at least one page\./);
  t.match(body, /<fieldset aria-describedby="problem"><legend>Pages/);
});

t.test("a required permission stays ticked when the page is shown again", async (t) => {
  const { body } = await submitDialog(sandbox, { dialog: "signup", request: CHAT_SIGNUP_REQUEST });
  t.match(body, /data-permission="whatsapp_business_messaging" checked disabled>/);
  t.match(body, "Choose at least one chat account.");
});

for (const [what, request] of [
  ["chat", CHAT_SIGNUP_REQUEST],
  ["page", PAGE_SIGNUP_REQUEST],
] as const) {
  const assets = what === "chat" ? CHAT_ACCOUNTS : [PAGE];

  t.test(`${what} signup redirects with a code or an error, and the state`, async (t) => {
    const granted = await redirectOf(submitDialog(sandbox, { dialog: "signup", request, assets }));
    t.ok(granted.href.startsWith(`${SIGNUP_REDIRECT}?code=`));
    t.equal(granted.searchParams.get("state"), "st4te");
    const denied = await redirectOf(submitDialog(sandbox, { dialog: "signup", request, action: "cancel" }));
    t.match(Object.fromEntries(denied.searchParams), { error: "access_denied", state: "st4te" });
  });

  t.test(`${what} signup without a choice shows the page again`, async (t) => {
    const { status, headers, body } = await submitDialog(sandbox, { dialog: "signup", request });
    t.equal(status, 400);
    t.notOk(headers.has("location"));
    t.match(body, "Choose at least one");
    t.match(body, `data-action="grant"`);
  });

  t.test(`${what} signup redirects to the registered URL only`, async (t) => {
    for (const redirect_uri of [
      "",
      `${SIGNUP_REDIRECT}/`,
      `${SIGNUP_REDIRECT}?a=1`,
      "https://client.example/",
    ]) {
      const { status, headers, body } = await open({ ...request, redirect_uri });
      t.equal(status, 400, redirect_uri);
      t.notOk(headers.has("location"));
      t.match(body, "data-error");
    }
  });
}

const BAD: Record<string, Record<string, string>> = {
  "an unknown client_id": { client_id: "1" },
  "another configuration": { config_id: "1" },
  "another response_type": { response_type: "token" },
  "no override of the response type": { override_default_response_type: "false" },
  "a scope in addition to the config_id": { scope: "pages_show_list" },
  "extras that are not JSON": { extras: "{" },
  "extras that are a list": { extras: "[]" },
  "a setup that is not an object": { extras: `{"setup":"x"}` },
  "a business that is not an object": { extras: `{"setup":{"business":[]}}` },
  "a business name that is not a string": { extras: `{"setup":{"business":{"name":7}}}` },
};

for (const [what, change] of Object.entries(BAD))
  t.test(`${what} gets an error page`, async (t) => {
    const { status, body } = await open({ ...CHAT_SIGNUP_REQUEST, ...change });
    t.equal(status, 400);
    t.match(body, "data-error");
    t.notMatch(body, "<form");
  });

t.test("extras can be empty or absent", async (t) => {
  const { extras: _none, ...request } = CHAT_SIGNUP_REQUEST;
  t.equal((await open(request)).status, 200);
  for (const extras of ["{}", `{"setup":{}}`, `{"setup":{"business":{"id":null,"name":null}}}`])
    t.equal((await open({ ...request, extras })).status, 200, extras);
});

t.test("page signup requires a scope and refuses extras", async (t) => {
  const { scope: _none, ...request } = PAGE_SIGNUP_REQUEST;
  t.equal((await open(request)).status, 400);
  t.equal((await open({ ...PAGE_SIGNUP_REQUEST, scope: "rule_the_world" })).status, 400);
  t.equal((await open({ ...PAGE_SIGNUP_REQUEST, extras: "{}" })).status, 400);
});

t.test("prefilled values are escaped", async (t) => {
  const extras = JSON.stringify({ setup: { business: { name: "<img src=x onerror=alert(1)>" } } });
  const { body } = await open({ ...CHAT_SIGNUP_REQUEST, extras });
  t.notMatch(body, "<img");
  t.match(body, "&lt;img src=x");
});
