import { randomUUID } from "node:crypto";
import t from "tap";
import { AD_ACCOUNT_STATUSES } from "../../../../src/schema/enumerations.ts";
import { syncAccounts } from "../../../../src/store/ads/ad-account-changes.ts";
import { readClientEvents } from "../../../fixtures/platforms/webhooks.ts";
import { callSandbox } from "../../../fixtures/sandbox/sandbox.ts";
import { grantAdAccount } from "../../../fixtures/tenants/ad-accounts.ts";
import {
  AD_ACCOUNT_IDS,
  type AdsContext,
  COFFEE_ACCOUNT_ID,
  DEAD_TOKEN_ACCOUNT_ID,
  startAdsContext,
  WHOLESALE_ACCOUNT_ID,
} from "../../../fixtures/tenants/ad-grants.ts";

/** Reserved for throttle tests, because the throttle affects every user of the account. */
const [THROTTLED, FAILING] = AD_ACCOUNT_IDS.slice(6) as [string, string];

const receivedCalls = async ({ sandbox }: AdsContext, path: RegExp) => {
  const { body } = await callSandbox(`${sandbox.origin}/_sandbox/requests`);
  return (body.data as { method: string; path: string }[]).filter((call) => path.test(call.path));
};

const subscribedAt = async ({ api }: AdsContext, id: string) => {
  const [row] = await api.db.query<{ subscribed_at: Date | null }>(
    "select subscribed_at from ad_accounts where id = $1",
    [id],
  );
  return row?.subscribed_at;
};

t.test("ad accounts", async (t) => {
  const context = await startAdsContext(t);
  const { api } = context;

  t.test("ad accounts are listed newest first, in pages, by status and by search text", async (t) => {
    const advertiser = await context.makeAdvertiser();
    t.same((await advertiser.call("GET", "/ad-accounts")).body, {
      data: [],
      paging: { cursors: { before: null, after: null }, has_more: false },
    });
    const first = await advertiser.connectAdAccounts(...AD_ACCOUNT_IDS.slice(0, 3));
    const [last] = await advertiser.connectAdAccounts(AD_ACCOUNT_IDS[3] as string);
    await advertiser.call("PATCH", `/ad-accounts/${first[2].id}`, { status: "active" });
    const listNames = async (query: string) => {
      const { status, body } = await advertiser.call("GET", `/ad-accounts${query}`);
      t.equal(status, 200, query);
      return (body.data as { name: string }[]).map(({ name }) => name);
    };
    const all = await listNames("");
    t.equal(all.length, 4);
    t.same(
      all,
      [last, ...first].map(({ name }) => name),
      "accounts of one grant keep the platform's order",
    );
    const page = (await advertiser.call("GET", "/ad-accounts?limit=3")).body;
    t.equal(page.paging.has_more, true);
    const rest = await listNames(`?limit=3&after=${page.paging.cursors.after}`);
    t.same([...page.data.map(({ name }: { name: string }) => name), ...rest], all);
    t.same(await listNames("?status=active"), ["Sandbox Tea"]);
    t.same((await listNames("?status=available")).length, 3);
    t.same((await listNames("?q=COFFEE")).length, 2, "the search ignores case");
    t.same(await listNames("?q=wholesale&status=active"), []);
    t.same(await listNames(`?q=act_${AD_ACCOUNT_IDS[3]}`), ["Sandbox Sushi"]);
    t.same(await listNames("?q=%25"), [], "the search treats % as a literal");
    for (const query of [
      "?status=paused",
      "?q=",
      `?q=${"x".repeat(201)}`,
      "?limit=0",
      "?after=x",
      "?name=x",
      "?q=%00",
    ])
      t.match(await advertiser.call("GET", `/ad-accounts${query}`), {
        status: 400,
        body: { error: "validation_failed" },
      });
  });

  t.test("an ad account is found by Herald's id or the platform's, and only by its client", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const [account] = await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
    const ids = [account.id, account.id.toUpperCase(), `act_${COFFEE_ACCOUNT_ID}`];
    for (const id of ids) t.same((await advertiser.call("GET", `/ad-accounts/${id}`)).body, account);
    for (const id of ["x", `${account.id}x`, `urn:uuid:${account.id}`, COFFEE_ACCOUNT_ID, "act_", "act_1x"])
      t.match(await advertiser.call("GET", `/ad-accounts/${id}`), {
        status: 400,
        body: { details: [{ path: "/id" }] },
      });
    for (const id of [randomUUID(), "act_1", `act_${WHOLESALE_ACCOUNT_ID}`])
      t.match(await advertiser.call("GET", `/ad-accounts/${id}`), {
        status: 404,
        body: { error: "not_found" },
      });
    const otherAdvertiser = await context.makeAdvertiser();
    for (const [method, path, json] of [
      ["GET", "", undefined],
      ["PATCH", "", { status: "active" }],
      ["POST", "/refresh", undefined],
    ] as const)
      for (const id of ids)
        t.equal(
          (await otherAdvertiser.call(method, `/ad-accounts/${id}${path}`, json)).status,
          404,
          `${method} ${id}`,
        );
  });

  t.test("an ad account is changed and refreshed by the platform's id", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const [account] = await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
    const path = `/ad-accounts/act_${COFFEE_ACCOUNT_ID}`;
    for (const status of ["active", "disabled"])
      t.match(await advertiser.call("PATCH", path, { status }), {
        status: 200,
        body: { id: account.id, status },
      });
    const targets = await api.db.query(
      "select distinct target from audit_log where client_id = $1 and action = 'ad_account.status_changed'",
      [advertiser.id],
    );
    t.same(targets, [{ target: account.id }], "the audit log names Herald's id");
    await api.db.query("update ad_accounts set name = 'Former' where client_id = $1", [advertiser.id]);
    t.match(await advertiser.call("POST", `${path}/refresh`), {
      status: 200,
      body: { id: account.id, name: account.name, status: "disabled" },
    });
  });

  t.test("an ad account changes status only as the transition table allows", async (t) => {
    const outcomes: Record<string, Record<string, [number, string]>> = {
      available: { active: [200, "active"], disabled: [409, "invalid_state_transition"] },
      active: { active: [200, "active"], disabled: [200, "disabled"] },
      disabled: { active: [200, "active"], disabled: [200, "disabled"] },
      revoked: { active: [409, "ad_account_revoked"], disabled: [409, "ad_account_revoked"] },
    };
    t.same(Object.keys(outcomes).sort(), [...AD_ACCOUNT_STATUSES].sort());
    for (const [from, transitions] of Object.entries(outcomes))
      for (const [to, [status, expected]] of Object.entries(transitions)) {
        const advertiser = await context.makeAdvertiser();
        const { id } = await grantAdAccount(api, advertiser, { status: from, token: "EAASandboxDemoAds" });
        const { status: actualStatus, body } = await advertiser.call("PATCH", `/ad-accounts/${id}`, {
          status: to,
        });
        t.equal(actualStatus, status, `${from} to ${to}`);
        t.equal(status === 200 ? body.status : body.error, expected, `${from} to ${to}`);
        const now = (await advertiser.call("GET", `/ad-accounts/${id}`)).body;
        t.equal(now.status, status === 200 ? to : from);
        const changes = await api.db.query(
          "select details from audit_log where client_id = $1 and action = 'ad_account.status_changed'",
          [advertiser.id],
        );
        const details = changes.map((change) => (change as { details: object }).details);
        const ad_account_id = now.ad_account_id;
        t.same(details, status === 200 && from !== to ? [{ ad_account_id, from, to }] : []);
        t.same(await readClientEvents(api, advertiser.id), [], "the client's own change records no event");
      }
  });

  t.test("an invalid status gets 400", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const { id } = await grantAdAccount(api, advertiser, { status: "available" });
    for (const json of [
      {},
      { status: null },
      { status: "revoked" },
      { status: "available" },
      { status: "ACTIVE" },
      { status: 1 },
    ])
      t.match(await advertiser.call("PATCH", `/ad-accounts/${id}`, json), {
        status: 400,
        body: { error: "validation_failed", details: [{ path: "/status" }] },
      });
    t.match(await advertiser.call("PATCH", `/ad-accounts/${id}`, { status: "active", name: "x" }), {
      status: 400,
      body: { details: [{ path: "/name" }] },
    });
  });

  t.test("activating an ad account subscribes to its events", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const [account] = await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
    t.equal(await subscribedAt(context, account.id), null);
    const before = (await receivedCalls(context, /subscribed_apps/)).length;
    await advertiser.call("PATCH", `/ad-accounts/${account.id}`, { status: "active" });
    await advertiser.call("PATCH", `/ad-accounts/${account.id}`, { status: "active" });
    const calls = await receivedCalls(context, /subscribed_apps/);
    t.equal(calls.length, before + 1, "one subscription: the second time the account is already active");
    t.match(calls[0], { method: "POST", path: `/v26.0/act_${COFFEE_ACCOUNT_ID}/subscribed_apps` });
    t.ok(await subscribedAt(context, account.id));
  });

  t.test("an ad account becomes active even when the subscription fails", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const [account] = await advertiser.connectAdAccounts(THROTTLED);
    const match = { path_prefix: `/act_${THROTTLED}/subscribed_apps` };
    const faults = [
      [{ kind: "error", code: 200 }, "permission"],
      [{ kind: "drop_before" }, "disconnected"],
      [{ kind: "html" }, "unusable_answer"],
      // Exceeds the subscription's short deadline.
      [{ kind: "delay", ms: 15_000 }, "timeout"],
      [{ kind: "throttle", code: 80004 }, "throttled"],
    ] as const;
    for (const [fault, verdict] of faults) {
      await context.arm({ ...fault, match });
      const { status, body } = await advertiser.call("PATCH", `/ad-accounts/${account.id}`, {
        status: "active",
      });
      t.match({ status, body }, { status: 200, body: { status: "active" } }, fault.kind);
      t.equal(await subscribedAt(context, account.id), null, fault.kind);
      t.match(
        api.lines.findLast(({ event }) => event === "ad_account.subscribe_failed"),
        {
          level: "warn",
          client: advertiser.id,
          ad_account: `act_${THROTTLED}`,
          verdict,
        },
      );
      await advertiser.call("PATCH", `/ad-accounts/${account.id}`, { status: "disabled" });
    }
    await context.clearFaults();
  });

  t.test("activating an ad account with a dead token revokes it", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const [coffee, dead] = await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID, DEAD_TOKEN_ACCOUNT_ID);
    const { status, body } = await advertiser.call("PATCH", `/ad-accounts/${dead.id}`, { status: "active" });
    t.match({ status, body }, { status: 200, body: { status: "revoked" } });
    t.equal((await advertiser.call("GET", `/ad-accounts/${coffee.id}`)).body.status, "revoked");
  });

  t.test("a refresh updates an ad account in every status except revoked", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const accounts = await advertiser.connectAdAccounts(...AD_ACCOUNT_IDS.slice(3, 6));
    const [available, active, disabled] = accounts;
    for (const { id } of [active, disabled])
      await advertiser.call("PATCH", `/ad-accounts/${id}`, { status: "active" });
    await advertiser.call("PATCH", `/ad-accounts/${disabled.id}`, { status: "disabled" });
    await api.db.query(
      "update ad_accounts set name = 'Former', account_status = 1, last_synced_at = '2020-01-01' where client_id = $1",
      [advertiser.id],
    );
    for (const [account, status] of [
      [available, "available"],
      [active, "active"],
      [disabled, "disabled"],
    ] as const) {
      const reply = await advertiser.call("POST", `/ad-accounts/${account.id}/refresh`);
      t.equal(reply.status, 200);
      t.match(reply.body, { ...account, status, last_synced_at: String });
      t.ok(Date.parse(reply.body.last_synced_at) > Date.now() - 60_000);
    }
    const events = (await readClientEvents(api, advertiser.id)).slice(3);
    t.same(
      events.map(({ type }) => type),
      Array(3).fill("ad_account.updated"),
    );
    t.match(events[1], {
      payload: { data: { ad_account: { id: active.id, status: "active", name: active.name } } },
    });
    await advertiser.call("POST", `/ad-accounts/${active.id}/refresh`);
    t.equal(
      (await readClientEvents(api, advertiser.id)).length,
      6,
      "a refresh without changes records no event",
    );
  });

  t.test("a response fetched with a replaced token does not update the account", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const [account] = await advertiser.connectAdAccounts(AD_ACCOUNT_IDS[5] as string);
    const [before] = await api.db.query<{ connection_id: string }>(
      "select connection_id from ad_accounts where id = $1",
      [account.id],
    );
    await advertiser.connectAdAccounts(AD_ACCOUNT_IDS[5] as string);
    const facts = {
      name: "Late",
      currency: "X",
      timezone_name: "Y",
      account_status: 1,
      business_id: null,
      business_name: null,
    };
    t.same(await syncAccounts(api.db, before?.connection_id as string, [{ id: account.id, ...facts }]), []);
    t.equal((await advertiser.call("GET", `/ad-accounts/${account.id}`)).body.name, account.name);
  });

  t.test("a dead token revokes every account that uses it, with one event each", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const otherAdvertiser = await context.makeAdvertiser();
    const [coffee, wholesale, tea] = await advertiser.connectAdAccounts(
      COFFEE_ACCOUNT_ID,
      WHOLESALE_ACCOUNT_ID,
      AD_ACCOUNT_IDS[2] as string,
    );
    const [otherAccount] = await otherAdvertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
    await advertiser.call("PATCH", `/ad-accounts/${coffee.id}`, { status: "active" });
    const [regranted] = await advertiser.connectAdAccounts(AD_ACCOUNT_IDS[2] as string);
    t.equal(regranted.id, tea.id, "the account has a new token");
    await context.arm({ kind: "dead_token", match: { path_prefix: `/act_${COFFEE_ACCOUNT_ID}` } });
    const replies = await Promise.all(
      Array.from({ length: 3 }, () => advertiser.call("POST", `/ad-accounts/${coffee.id}/refresh`)),
    );
    for (const reply of replies) t.match(reply, { status: 409, body: { error: "ad_account_revoked" } });
    const statusOf = async (caller: typeof advertiser, id: string) =>
      (await caller.call("GET", `/ad-accounts/${id}`)).body.status;
    t.match((await advertiser.call("GET", `/ad-accounts/${coffee.id}`)).body, {
      status: "revoked",
      token_expires_at: null,
    });
    t.equal(await statusOf(advertiser, wholesale.id), "revoked");
    t.equal(await statusOf(advertiser, tea.id), "available");
    t.equal(
      await statusOf(otherAdvertiser, otherAccount.id),
      "available",
      "another client's token is not affected",
    );
    const events = (await readClientEvents(api, advertiser.id)).filter(
      ({ type }) => type === "ad_account.revoked",
    );
    t.match(
      events
        .map(({ payload }) => payload.data)
        .sort((a, b) => (a.previous_status < b.previous_status ? -1 : 1)),
      [
        { previous_status: "active", ad_account: { id: coffee.id, status: "revoked" } },
        { previous_status: "available", ad_account: { id: wholesale.id, status: "revoked" } },
      ],
    );
    t.same(
      await readClientEvents(api, otherAdvertiser.id),
      (await readClientEvents(api, otherAdvertiser.id)).filter(({ type }) => type === "ad_account.connected"),
    );
    t.match(await advertiser.call("POST", `/ad-accounts/${coffee.id}/refresh`), {
      status: 409,
      body: { error: "ad_account_revoked" },
    });
    const tokens = await api.db.query("select 1 from ad_connections where client_id = $1", [advertiser.id]);
    t.equal(tokens.length, 1, "the dead token is deleted");
    await context.clearFaults();

    const again = await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID);
    t.same(
      again.map(({ id, status }) => [id, status]),
      [
        [coffee.id, "available"],
        [wholesale.id, "available"],
      ],
    );
    const reconnected = (await readClientEvents(api, advertiser.id))
      .filter(({ type }) => type === "ad_account.connected")
      .slice(-2);
    t.match(
      reconnected,
      Array(2).fill({
        payload: { data: { previous_status: "revoked", ad_account: { status: "available" } } },
      }),
    );
    t.equal((await advertiser.call("POST", `/ad-accounts/${coffee.id}/refresh`)).status, 200);
  });

  t.test("permission errors and platform failures do not revoke an ad account", async (t) => {
    const advertiser = await context.makeAdvertiser();
    const [account] = await advertiser.connectAdAccounts(FAILING);
    for (const [fault, status, error] of [
      [{ kind: "error", code: 190, subcode: 459 }, 403, "platform_permission_denied"],
      [{ kind: "error", code: 100, subcode: 33 }, 404, "platform_object_not_found"],
      [{ kind: "error", code: 368 }, 403, "platform_policy_blocked"],
      [{ kind: "html", times: 3 }, 502, "platform_unavailable"],
      [{ kind: "throttle", code: 80004 }, 429, "platform_rate_limited"],
    ] as const) {
      await context.arm({ ...fault, match: { path_prefix: `/act_${FAILING}` } });
      const reply = await advertiser.call("POST", `/ad-accounts/${account.id}/refresh`);
      t.match(reply, { status, body: { error } });
    }
    t.equal((await advertiser.call("GET", `/ad-accounts/${account.id}`)).body.status, "available");
  });
});

t.test("an account is activated even when its token cannot be decrypted", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await context.makeAdvertiser();
  const [account] = await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
  await context.api.db.query("update ad_connections set token_sealed = 'lost.AAAA'");
  t.match(await advertiser.call("PATCH", `/ad-accounts/${account.id}`, { status: "active" }), {
    status: 200,
    body: { status: "active" },
  });
  t.match(
    context.api.lines.find(({ event }) => event === "ad_account.subscribe_failed"),
    { level: "error", client: advertiser.id, err: /no encryption key/ },
  );
});
