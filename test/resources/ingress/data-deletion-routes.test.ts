import { createHmac } from "node:crypto";
import t from "tap";
import { PERSON } from "../../../src/sandbox/built-in-assets.ts";
import { ENDED_TRY, startSignupContext, storedTryOf } from "../../fixtures/embed/signup.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { readClientEvents } from "../../fixtures/platforms/webhooks.ts";
import { OTHER_WABA_ID, PIN_NUMBER_ID, WABA_ID } from "../../fixtures/sandbox/assets.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** A signed_request as the platform creates it. */
function signedRequest(content: unknown, secret = "sandbox-app-secret"): string {
  const text = Buffer.from(typeof content === "string" ? content : JSON.stringify(content)).toString(
    "base64url",
  );
  return `${createHmac("sha256", secret).update(text).digest("base64url")}.${text}`;
}

const post = (api: Api, path: string, signed_request: string) =>
  api.call("POST", path, {
    raw: new URLSearchParams({ signed_request }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });

const signedUserRequest = (user_id: unknown, issued_at: unknown = nowSeconds()) =>
  signedRequest({ algorithm: "HMAC-SHA256", user_id, issued_at });

const accountStatus = async (api: Api, id: string) => {
  const [row] = await api.db.query<{ status: string; connection_id: string | null }>(
    "select status, connection_id from ad_accounts where id = $1",
    [id],
  );
  return row;
};

const channelRow = async (api: Api, id: string) => {
  const [row] = await api.db.query<Record<string, unknown>>(
    "select status, token_sealed, platform_user_id from channels where id = $1",
    [id],
  );
  return row;
};

t.test("a person who removes the app loses their connections at every client", async (t) => {
  const api = await startApi(t);
  const platformUserId = newPlatformId();
  const [one, other] = [await makeTenant(api), await makeTenant(api)];
  const userAccounts = [
    await grantAdAccount(api, one, { platformUserId }),
    await grantAdAccount(api, other, { platformUserId, status: "available" }),
  ];
  const otherAccount = await grantAdAccount(api, one);
  const channel = await makeChannel(api, one, { platformUserId, externalRef: "r" });
  const otherChannel = await makeChannel(api, one);
  t.match(await post(api, "/platform/deauthorize", signedUserRequest(platformUserId)), {
    status: 200,
    body: { received: true },
  });
  for (const { id } of userAccounts) t.match(await accountStatus(api, id), { status: "revoked" });
  t.match(await accountStatus(api, otherAccount.id), { status: "active" });
  t.match(await channelRow(api, channel), { status: "needs_reauth", token_sealed: null });
  t.match(await channelRow(api, otherChannel), { status: "connected" });
  t.match(
    api.lines.filter(({ event }) => event === "channel.needs_reauth"),
    [{ level: "warn", client: one.id, channel }],
  );
  t.match(await readClientEvents(api, one.id), [
    {
      type: "channel.disconnected",
      key: "chatapp",
      channel_id: channel,
      payload: { channel_external_ref: "r", data: { reason: "token_dead" } },
    },
    {
      type: "ad_account.revoked",
      key: "marketing",
      ad_account_id: userAccounts[0]?.adAccountId,
      payload: {
        data: {
          previous_status: "active",
          ad_account: {
            id: userAccounts[0]?.id,
            ad_account_id: userAccounts[0]?.adAccountId,
            status: "revoked",
            account_status_label: "active",
          },
        },
      },
    },
  ]);
  t.match(await readClientEvents(api, other.id), [{ payload: { data: { previous_status: "available" } } }]);
  const audit = await api.db.query(
    "select action, target from audit_log where client_id = $1 and actor_type = 'service' order by id",
    [one.id],
  );
  t.same(audit, [
    { action: "channel.disconnected", target: channel },
    { action: "ad_account.revoked", target: userAccounts[0]?.id },
  ]);
  await post(api, "/platform/deauthorize", signedUserRequest(platformUserId));
  t.equal((await readClientEvents(api, one.id)).length, 2, "a repeated request revokes nothing more");
});

t.test("connections made after the request was issued are kept", async (t) => {
  const api = await startApi(t);
  const platformUserId = newPlatformId();
  const tenant = await makeTenant(api);
  const { id } = await grantAdAccount(api, tenant, { platformUserId });
  const channel = await makeChannel(api, tenant, { platformUserId });
  await post(api, "/platform/deauthorize", signedUserRequest(platformUserId, nowSeconds() - 3600));
  t.match(await accountStatus(api, id), { status: "active" });
  t.match(await channelRow(api, channel), { status: "connected" });
  await api.db.query("update channels set connected_at = now() - interval '1 day' where id = $1", [channel]);
  await post(api, "/platform/deauthorize", signedUserRequest(platformUserId, nowSeconds() - 3600));
  t.match(
    await channelRow(api, channel),
    { status: "connected" },
    "the token was stored after the request was issued",
  );
});

t.test("a user id beyond 2^53 is matched exactly", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const [targetAccount, other] = [
    await grantAdAccount(api, tenant, { platformUserId: "10222333444555667" }),
    await grantAdAccount(api, tenant, { platformUserId: "10222333444555668" }),
  ];
  await post(api, "/platform/deauthorize", signedRequest('{"user_id":10222333444555667}'));
  t.match(await accountStatus(api, targetAccount.id), { status: "revoked" });
  t.match(await accountStatus(api, other.id), { status: "active" });
});

t.test("a data deletion erases the person's data and provides a confirmation view", async (t) => {
  const api = await startApi(t);
  const platformUserId = newPlatformId();
  const tenant = await makeTenant(api);
  const { id } = await grantAdAccount(api, tenant, { platformUserId });
  const channel = await makeChannel(api, tenant, { platformUserId });
  const reply = await post(api, "/platform/data-deletion", signedUserRequest(platformUserId));
  t.equal(reply.status, 200);
  const { url, confirmation_code } = reply.body;
  t.equal(url, `${api.config.PUBLIC_URL}/platform/data-deletion/${confirmation_code}`);
  t.same(await accountStatus(api, id), { status: "revoked", connection_id: null });
  t.same(await channelRow(api, channel), {
    status: "needs_reauth",
    token_sealed: null,
    platform_user_id: null,
  });
  t.same(await api.db.query("select 1 from ad_connections where client_id = $1", [tenant.id]), []);
  t.equal((await readClientEvents(api, tenant.id)).length, 2);

  const view = await api.call("GET", new URL(url).pathname);
  t.equal(view.status, 200);
  t.match(view.text, "1 ad connection, 1 messaging channel and 0 unfinished signups");
  t.match(view.text, confirmation_code);
  t.match(view.headers.get("content-security-policy"), "frame-ancestors 'none'");
  t.notMatch(view.text, platformUserId);
  const again = await post(api, "/platform/data-deletion", signedUserRequest(platformUserId));
  t.match((await api.call("GET", new URL(again.body.url).pathname)).text, "We had no data about you.");
});

t.test("a data deletion erases more grants than one batch has", async (t) => {
  const api = await startApi(t);
  const platformUserId = newPlatformId();
  const [tenant, count] = [await makeTenant(api), 1_001];
  await grantAdAccount(api, tenant, { platformUserId });
  await api.db.query(
    `insert into channels (id, client_id, platform, page_id, token_sealed, platform_user_id, granted_at)
    select 'ch_' || lpad(n::text, 26, '0'), $1, 'socialapp', n::text, 'x', $2, now() - interval '1 day'
    from generate_series(1, $3) n`,
    [tenant.id, platformUserId, count],
  );
  await api.db.query(
    `insert into ad_accounts
      (id, client_id, connection_id, ad_account_id, name, currency, timezone_name, account_status)
    select gen_random_uuid(), $1, c.id, 'act_' || n, 'n', 'BRL', 'UTC', 1
    from ad_connections c, generate_series(1, $2) n
    where c.client_id = $1`,
    [tenant.id, count - 1],
  );
  const reply = await post(api, "/platform/data-deletion", signedUserRequest(platformUserId));
  const view = await api.call("GET", new URL(reply.body.url).pathname);
  t.match(view.text, "1 ad connection, 1001 messaging channels");
  const countRows = async (table: string, condition: string) =>
    (await api.db.query(`select from ${table} where client_id = $1 and ${condition}`, [tenant.id])).length;
  t.equal(await countRows("channels", "token_sealed is null and platform_user_id is null"), count);
  t.equal(await countRows("ad_accounts", "status = 'revoked'"), count);
  t.equal(await countRows("ad_connections", "true"), 0);
  for (const action of ["channel.disconnected", "ad_account.revoked"]) {
    t.equal(await countRows("events", `type = '${action}'`), count, `one event ${action} each`);
    t.equal(await countRows("audit_log", `action = '${action}'`), count, `one audit entry ${action} each`);
  }
});

t.test("the grant of a signup that waits for the person is erased", async (t) => {
  const context = await startSignupContext(t);
  const { api } = context;
  const host = await context.makeHost();
  const waiting = async (...assets: string[]) => {
    const page = await host.open();
    await page.grant("chatapp", ...assets);
    return page;
  };
  const choosing = await waiting(WABA_ID, OTHER_WABA_ID);
  const pin = await waiting(WABA_ID, OTHER_WABA_ID);
  await pin.post("choice", { asset_id: PIN_NUMBER_ID });
  t.match(await pin.state(), { try: { phase: "pin" } });
  const { id: personId } = PERSON;
  await post(api, "/platform/data-deletion", signedUserRequest(newPlatformId()));
  await post(api, "/platform/data-deletion", signedUserRequest(personId, nowSeconds() - 3600));
  for (const page of [choosing, pin])
    t.match(await storedTryOf(context, page), { grant_sealed: String }, "another person, or a later grant");
  const { body } = await post(api, "/platform/data-deletion", signedUserRequest(personId));
  for (const page of [choosing, pin]) {
    t.same(await storedTryOf(context, page), ENDED_TRY);
    t.match(await page.state(), { status: "opened", try: null }, "the person can begin again");
  }
  t.match((await api.call("GET", new URL(body.url).pathname)).text, "2 unfinished signups");
  t.same(
    await api.db.query("select id from embed_sessions where grant_user_id is not null"),
    [],
    "the id of the person is erased too",
  );

  const removed = await waiting(WABA_ID, OTHER_WABA_ID);
  await post(api, "/platform/deauthorize", signedUserRequest(personId));
  t.same(await storedTryOf(context, removed), ENDED_TRY);
});

t.test("an unknown confirmation code gets 404 and a malformed one 400", async (t) => {
  const api = await startApi(t);
  t.equal((await api.call("GET", `/platform/data-deletion/${"x".repeat(20)}`)).status, 404);
  t.equal((await api.call("GET", "/platform/data-deletion/short")).status, 400);
});

t.test("a request without the platform's valid signature has no effect", async (t) => {
  const api = await startApi(t);
  const platformUserId = newPlatformId();
  const tenant = await makeTenant(api);
  const { id } = await grantAdAccount(api, tenant, { platformUserId });
  const right = signedUserRequest(platformUserId);
  const [signature, content] = right.split(".");
  const rows: [string, number][] = [
    [signedRequest({ user_id: platformUserId }, "another secret"), 401],
    [`${content}.${signature}`, 401],
    [`${signature}.${content}.x`, 401],
    [`.${content}`, 401],
    ["", 401],
    ["x", 401],
    [signedRequest("not json"), 401],
    [signedRequest("null"), 401],
    [signedRequest({}), 400],
    [signedRequest({ user_id: { a: 1 } }), 400],
    [signedRequest({ user_id: "1\u0000" }), 400],
    [signedRequest({ user_id: "' or true --" }), 400],
  ];
  for (const path of ["/platform/deauthorize", "/platform/data-deletion"]) {
    for (const [request, status] of rows)
      t.equal((await post(api, path, request)).status, status, request.slice(0, 30));
    t.equal((await api.call("POST", path, { raw: "a=b" })).status, 400);
    t.equal((await api.call("POST", path, { raw: "" })).status, 400);
    t.equal((await api.call("POST", path, { raw: `signed_request=${"x".repeat(100_000)}` })).status, 413);
  }
  t.match(await accountStatus(api, id), { status: "active" });
  t.equal((await post(api, "/platform/deauthorize", signedUserRequest(platformUserId, "soon"))).status, 200);
  t.match(await accountStatus(api, id), { status: "revoked" }, "an invalid issue time counts as now");
});
