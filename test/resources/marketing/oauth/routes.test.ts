import t from "tap";
import { createSignedStates, createSigner } from "../../../../src/security/signatures-and-states.ts";
import { readClientEvents } from "../../../fixtures/platforms/webhooks.ts";
import {
  AD_ACCOUNT_IDS,
  type AdsContext,
  type Advertiser,
  COFFEE_ACCOUNT_ID,
  DEAD_TOKEN_ACCOUNT_ID,
  startAdsContext,
  WHOLESALE_ACCOUNT_ID,
} from "../../../fixtures/tenants/ad-grants.ts";

const adAccountIdsOf = (accounts: { ad_account_id: string }[]) =>
  accounts.map(({ ad_account_id }) => ad_account_id);

const connectionsOf = ({ api }: AdsContext, { id }: Advertiser) =>
  api.db.query<{ id: string; platform_user_id: string; token_sealed: string; expires_at: Date | null }>(
    "select id, platform_user_id, token_sealed, expires_at from ad_connections where client_id = $1 order by id",
    [id],
  );

t.test("OAuth connection of ad accounts", async (t) => {
  const context = await startAdsContext(t);
  const { api } = context;

  t.test("the URL leads to the dialog with all its parameters", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const before = Date.now();
    const { status, body } = await advertiser.call("GET", "/oauth/url");
    t.equal(status, 200);
    t.same(Object.keys(body), ["url", "state", "redirect_uri", "expires_at"]);
    const url = new URL(body.url);
    t.equal(url.origin + url.pathname, api.config.AD_DIALOG_URL);
    t.same(Object.fromEntries(url.searchParams), {
      client_id: api.config.PLATFORM_APP_ID,
      redirect_uri: api.config.OAUTH_REDIRECT_URI,
      state: body.state,
      response_type: "code",
      scope: "ads_management,ads_read,business_management",
      auth_type: "rerequest",
    });
    t.equal(body.redirect_uri, api.config.OAUTH_REDIRECT_URI);
    const lifetimeMs = Date.parse(body.expires_at) - before;
    t.ok(
      lifetimeMs >= 600_000 && lifetimeMs < 660_000,
      `the state is valid for ten minutes, not ${lifetimeMs} ms`,
    );
    const again = await advertiser.call("GET", "/oauth/url");
    t.not(again.body.state, body.state);
  });

  t.test("a custom redirect_uri is kept exactly, or refused", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const requestUrl = (uri: string) =>
      advertiser.call("GET", `/oauth/url?redirect_uri=${encodeURIComponent(uri)}`);
    for (const uri of [
      "https://App.example.com:443/back?a=b%20c&d=",
      "http://localhost:3000/x",
      "http://127.0.0.1/",
      "https://app.example.com",
    ]) {
      const { status, body } = await requestUrl(uri);
      t.equal(status, 200, uri);
      t.equal(body.redirect_uri, uri);
      t.equal(new URL(body.url).searchParams.get("redirect_uri"), uri);
    }
    for (const uri of [
      "",
      "http://app.example.com/",
      "http://localhost.example.com/",
      "ftp://localhost/",
      "javascript:alert(1)",
      "https:app.example.com",
      "https://app.example.com/#x",
      "https://user:word@app.example.com/",
      "https://app.example.com/\n",
      "https://app.exämple.com/",
      "/console/oauth",
      `https://app.example.com/${"x".repeat(2_048)}`,
    ]) {
      const { status, body } = await requestUrl(uri);
      t.equal(status, 400, JSON.stringify(uri));
      t.match(body, { error: "validation_failed", details: [{ path: "/redirect_uri" }] });
    }
  });

  t.test("the exchange connects every granted account, across all pages, as available", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const accounts = await advertiser.connectAdAccounts(...AD_ACCOUNT_IDS);
    t.same(
      adAccountIdsOf(accounts),
      AD_ACCOUNT_IDS.map((id) => `act_${id}`),
    );
    t.match(accounts[0], {
      ad_account_id: `act_${COFFEE_ACCOUNT_ID}`,
      account_id: COFFEE_ACCOUNT_ID,
      name: "Sandbox Coffee",
      currency: "BRL",
      timezone_name: "America/Sao_Paulo",
      account_status: 1,
      account_status_label: "active",
      business_id: "1700000000000009",
      business_name: "Sandbox Coffee Ltda",
      status: "available",
    });
    t.match(accounts[4], { business_name: "Sam S." });
    t.notOk("business_id" in accounts[4], "a personal account has no business");
    t.same(
      accounts.slice(5).map(({ account_status_label }) => account_status_label),
      ["closed", "disabled", "unsettled"],
    );
    t.ok(accounts.every(({ status }) => status === "available"));

    const connections = await connectionsOf(context, advertiser);
    t.equal(connections.length, 1, "all accounts share one connection");
    const [connection] = connections;
    t.equal(connection?.platform_user_id, "1700000000000042");
    t.ok(Number(connection?.expires_at) > Date.now() + 59 * 86_400_000, "the token is long-lived");
    t.notMatch(connection?.token_sealed, /EAASandbox/, "the token is encrypted");
    const expiry = connection?.expires_at?.toISOString();
    for (const account of accounts) t.equal(account.token_expires_at, expiry);
    const listed = (await advertiser.call("GET", "/ad-accounts?limit=1")).body.data[0];
    t.equal(listed.token_expires_at, expiry);

    const events = await readClientEvents(api, advertiser.id);
    t.same(
      events.map(({ type }) => type),
      AD_ACCOUNT_IDS.map(() => "ad_account.connected"),
    );
    t.match(events[0], { key: "marketing", payload: { data: { ad_account: { status: "available" } } } });
    t.same(new Set(events.map(({ ad_account_id }) => ad_account_id)), new Set(adAccountIdsOf(accounts)));
    const [entry] = await api.db.query(
      "select actor_type, details from audit_log where client_id = $1 and action = 'ad_accounts.connected'",
      [advertiser.id],
    );
    t.match(entry, {
      actor_type: "api_key",
      details: { ad_account_ids: adAccountIdsOf(accounts) },
    });
  });

  t.test("a grant without accounts connects none", async (t) => {
    const advertiser = await context.makeAdvertiser();
    t.same(await advertiser.connectAdAccounts(), []);
    t.same(await connectionsOf(context, advertiser), []);
  });

  t.test("declining ads_management gets 400 with the missing permissions and stores nothing", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const cases = [
      { permissions: ["ads_read"], missing: ["ads_management", "business_management"] },
      { permissions: ["ads_read", "business_management"], missing: ["ads_management"] },
      { permissions: [], missing: ["ads_management", "ads_read", "business_management"] },
      {
        permissions: ["ads_read"],
        expired: ["ads_management"],
        missing: ["ads_management", "business_management"],
      },
    ];
    for (const { missing, ...choices } of cases) {
      const returned = await advertiser.completeDialog({ ...choices, assets: [COFFEE_ACCOUNT_ID] });
      const { status, body } = await advertiser.call("POST", "/oauth/exchange", returned);
      t.equal(status, 400);
      t.match(body, { error: "missing_permission", message: /ads_management/, request_id: String });
      t.same(body.missing, missing);
    }
    t.same(await connectionsOf(context, advertiser), []);
    t.same((await advertiser.call("GET", "/ad-accounts")).body.data, []);
    t.same(await readClientEvents(api, advertiser.id), []);
  });

  t.test("an exchange without ads_read and business_management works, but omits the business", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const returned = await advertiser.completeDialog({
      permissions: ["ads_management"],
      assets: [COFFEE_ACCOUNT_ID],
    });
    const { status, body } = await advertiser.call("POST", "/oauth/exchange", returned);
    t.equal(status, 200);
    t.notOk("business_id" in body[0]);
  });

  t.test("an invalid state is refused without calling the platform", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const other = await context.makeAdvertiser();
    const returned = await advertiser.completeDialog({ assets: [COFFEE_ACCOUNT_ID] });
    const ownRedirect = await advertiser.call(
      "GET",
      "/oauth/url?redirect_uri=https%3A%2F%2Fapp.example.com%2F",
    );
    const [nonce, expiry, signature] = returned.state.split(".");
    const wrong: [string, Advertiser, Record<string, string>][] = [
      ["another client's", other, {}],
      ["for another redirect_uri", advertiser, { state: ownRedirect.body.state }],
      ["with another redirect_uri", advertiser, { redirect_uri: "https://app.example.com/" }],
      ["invented", advertiser, { state: "state" }],
      ["with a later expiry", advertiser, { state: `${nonce}.zzzzzzzz.${signature}` }],
      ["with an extra part", advertiser, { state: `${nonce}.${expiry}.${signature}.x` }],
      [
        "with another signature",
        advertiser,
        { state: `${nonce}.${expiry}.${signature?.split("").reverse().join("")}` },
      ],
    ];
    for (const [name, caller, change] of wrong) {
      const { status, body } = await caller.call("POST", "/oauth/exchange", { ...returned, ...change });
      t.equal(status, 400, name);
      t.equal(body.error, "missing_permission", name);
      t.notOk("missing" in body, name);
    }
    t.equal(
      (await advertiser.call("POST", "/oauth/exchange", returned)).status,
      200,
      "refused attempts do not consume the state",
    );
    const again = await advertiser.call("POST", "/oauth/exchange", returned);
    t.match(again, { status: 400, body: { error: "missing_permission", message: /already used/ } });
    t.notOk("missing" in again.body);
  });

  t.test("an expired state is refused", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const { redirect_uri } = (await advertiser.call("GET", "/oauth/url")).body;
    const states = createSignedStates(createSigner(api.config.ENCRYPTION_KEYS, "oauth-state"));
    const { text: state } = states.issue([advertiser.id, redirect_uri], -1);
    const reply = await advertiser.call("POST", "/oauth/exchange", { code: "AQ", redirect_uri, state });
    t.match(reply, { status: 400, body: { error: "missing_permission", message: /expired/ } });
  });

  t.test("only one of several concurrent exchanges with the same state succeeds", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const returned = await advertiser.completeDialog({ assets: [COFFEE_ACCOUNT_ID] });
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => advertiser.call("POST", "/oauth/exchange", returned)),
    );
    t.same(replies.map(({ status }) => status).sort(), [200, 400, 400, 400, 400]);
    t.equal((await connectionsOf(context, advertiser)).length, 1);
    t.equal((await readClientEvents(api, advertiser.id)).length, 1);
  });

  t.test("a code the platform refuses gets 400 with the platform's error", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const returned = await advertiser.completeDialog({ assets: [COFFEE_ACCOUNT_ID] });
    const { status, body, text } = await advertiser.call("POST", "/oauth/exchange", {
      ...returned,
      code: "AQmadeup-code",
    });
    t.equal(status, 400);
    t.match(body, { error: "platform_invalid_request", retryable: false, platform_error: { code: 100 } });
    t.notMatch(text, /madeup-code|sandbox-app-secret/);
  });

  t.test("an invalid body gets 400 and names the field", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const validBody = { code: "c", redirect_uri: "https://app.example.com/", state: "s" };
    const { code: _code, ...withoutCode } = validBody;
    for (const [path, body] of [
      ["/code", withoutCode],
      ["/code", { ...validBody, code: "" }],
      ["/code", { ...validBody, code: 7 }],
      ["/code", { ...validBody, code: "x".repeat(5_000) }],
      ["/code", { ...validBody, code: "a\u0000b" }],
      ["/redirect_uri", { ...validBody, redirect_uri: null }],
      ["/state", { ...validBody, state: [] }],
      ["/extra", { ...validBody, extra: 1 }],
    ] as const) {
      const reply = await advertiser.call("POST", "/oauth/exchange", body);
      t.match(reply, { status: 400, body: { error: "validation_failed", details: [{ path }] } });
    }
  });

  t.test("a failed exchange stores nothing", async (t) => {
    const steps = ["/oauth/access_token", "/me/permissions", "/debug_token", "/me/adaccounts"];
    for (const path_prefix of steps) {
      const advertiser = await context.makeAdvertiser();
      const returned = await advertiser.completeDialog({ assets: AD_ACCOUNT_IDS });
      await context.arm({ kind: "error", code: 2, times: 9, match: { path_prefix } });
      const { status, body } = await advertiser.call("POST", "/oauth/exchange", returned);
      await context.clearFaults();
      t.match(
        { status, body },
        {
          status: 502,
          body: { error: "platform_unavailable", retryable: false, message: /send the person there again$/ },
        },
        path_prefix,
      );
      t.same(await connectionsOf(context, advertiser), [], path_prefix);
      t.same((await advertiser.call("GET", "/ad-accounts")).body.data, [], path_prefix);
    }
  });

  t.test("a token that dies during the exchange revokes no account", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const returned = await advertiser.completeDialog({ assets: AD_ACCOUNT_IDS });
    await context.arm({ kind: "dead_token", match: { path_prefix: "/me/adaccounts" } });
    const { status, body } = await advertiser.call("POST", "/oauth/exchange", returned);
    await context.clearFaults();
    t.match({ status, body }, { status: 400, body: { error: "platform_invalid_request" } });
    t.same(await connectionsOf(context, advertiser), []);
  });

  t.test("concurrent grants of the same accounts leave one connection and one event each", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const returned = [];
    for (let count = 0; count < 4; count += 1)
      returned.push(await advertiser.completeDialog({ assets: [COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID] }));
    const replies = await Promise.all(
      returned.map((json) => advertiser.call("POST", "/oauth/exchange", json)),
    );
    t.same(
      replies.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    const connections = await connectionsOf(context, advertiser);
    t.equal(connections.length, 1, "only the last token is kept");
    t.same(
      (await readClientEvents(api, advertiser.id)).map(({ type, ad_account_id }) => [type, ad_account_id]),
      [
        ["ad_account.connected", `act_${COFFEE_ACCOUNT_ID}`],
        ["ad_account.connected", `act_${WHOLESALE_ACCOUNT_ID}`],
      ],
      "each account is connected once",
    );
  });

  t.test("reconnected accounts keep their status and use the new token", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const [coffee, wholesale, dead] = await advertiser.connectAdAccounts(
      COFFEE_ACCOUNT_ID,
      WHOLESALE_ACCOUNT_ID,
      DEAD_TOKEN_ACCOUNT_ID,
    );
    await advertiser.call("PATCH", `/ad-accounts/${coffee.id}`, { status: "active" });
    await advertiser.call("PATCH", `/ad-accounts/${wholesale.id}`, { status: "active" });
    await advertiser.call("PATCH", `/ad-accounts/${wholesale.id}`, { status: "disabled" });
    await api.db.query("update ad_accounts set name = 'Former name' where id = $1", [wholesale.id]);
    const [former] = await connectionsOf(context, advertiser);
    const again = await advertiser.connectAdAccounts(
      COFFEE_ACCOUNT_ID,
      WHOLESALE_ACCOUNT_ID,
      AD_ACCOUNT_IDS[2] as string,
    );
    t.same(
      again.map(({ status }) => status),
      ["active", "disabled", "available"],
    );
    t.same(
      again.slice(0, 2).map(({ id }) => id),
      [coffee.id, wholesale.id],
      "the ids are unchanged",
    );
    t.equal(again[1].name, "Sandbox Coffee Wholesale");

    const connections = await connectionsOf(context, advertiser);
    t.equal(connections.length, 2, "the account that was not granted again keeps its old token");
    t.equal(connections[0]?.id, former?.id);
    const rows = await api.db.query("select connection_id from ad_accounts where id = any($1)", [
      again.map(({ id }) => id),
    ]);
    t.ok(rows.every((row) => (row as { connection_id: string }).connection_id === connections[1]?.id));
    const events = (await readClientEvents(api, advertiser.id)).slice(3);
    t.match(events.map(({ type, ad_account_id }) => [type, ad_account_id]).sort(), [
      ["ad_account.connected", `act_${AD_ACCOUNT_IDS[2]}`],
      ["ad_account.updated", `act_${WHOLESALE_ACCOUNT_ID}`],
    ]);

    await advertiser.connectAdAccounts(
      COFFEE_ACCOUNT_ID,
      WHOLESALE_ACCOUNT_ID,
      AD_ACCOUNT_IDS[2] as string,
      DEAD_TOKEN_ACCOUNT_ID,
    );
    t.equal((await connectionsOf(context, advertiser)).length, 1, "a token without accounts is deleted");
    t.equal((await advertiser.call("GET", `/ad-accounts/${dead.id}`)).body.status, "available");
  });

  t.test("two clients can connect the same account independently", async (t) => {
    const [one, other] = [await context.makeAdvertiser(), await context.makeAdvertiser()];
    const [oneAccount] = await one.connectAdAccounts(COFFEE_ACCOUNT_ID);
    const [otherAccount] = await other.connectAdAccounts(COFFEE_ACCOUNT_ID);
    t.not(oneAccount.id, otherAccount.id);
    t.equal((await one.call("GET", `/ad-accounts/${otherAccount.id}`)).status, 404);
    await one.call("PATCH", `/ad-accounts/${oneAccount.id}`, { status: "active" });
    t.equal((await other.call("GET", `/ad-accounts/${otherAccount.id}`)).body.status, "available");
  });

  t.test("codes, states and tokens are not logged", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const returned = await advertiser.completeDialog({ assets: [COFFEE_ACCOUNT_ID] });
    await advertiser.call("POST", "/oauth/exchange", returned);
    const lines = JSON.stringify(api.lines);
    t.notMatch(lines, returned.code);
    t.notMatch(lines, returned.state);
    t.notMatch(lines, /EAA/);
    t.match(lines, /oauth\/access_token/, "the calls are logged");
  });
});
