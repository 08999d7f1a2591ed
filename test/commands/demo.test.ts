import t from "tap";
import { createClientWithOwner } from "../../src/domain/tenants/users.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { AD_ACCOUNTS, PAGES, WABAS } from "../../src/sandbox/built-in-assets.ts";
import { startApi } from "../fixtures/http/api.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { cloneDatabase } from "../fixtures/servers/servers.ts";
import { makeActor } from "../fixtures/tenants/actors.ts";
import { createFastPasswords } from "../fixtures/tenants/passwords.ts";
import { until } from "../fixtures/until.ts";

t.test("herald demo", async (t) => {
  const settings = await testSettings(t, { DATABASE_URL: await cloneDatabase(t, "template0") });
  const first = (await createCommandRunner(t, settings)(["demo", "--json"])).json;
  const api = await startApi(t, { config: readConfig(settings), credentialTtlMs: 100 });
  const loginStatuses = async ({ email, password, api_key }: Record<string, string>) => [
    (await api.call("POST", "/api/auth/login", { json: { email, password } })).status,
    (await api.call("GET", "/api/auth/me", { headers: { "x-svc-api-key": api_key as string } })).status,
  ];
  const known = { DEMO_PASSWORD: first.password, DEMO_API_KEY: first.api_key };

  t.test("creates a client with working credentials in an empty database", async (t) => {
    t.same(await loginStatuses(first), [200, 200]);
  });

  t.test("connects the client's channels and webhook URL to the sandbox", async (t) => {
    const headers = { "x-svc-api-key": first.api_key };
    const { data } = (await api.call("GET", "/api/channels", { headers })).body;
    t.match(
      data.toSorted((one: { platform: string }, other: { platform: string }) =>
        one.platform < other.platform ? -1 : 1,
      ),
      [
        {
          platform: "chatapp",
          status: "connected",
          phone_number_id: WABAS[0]?.numbers[0]?.id,
          waba_id: WABAS[0]?.id,
        },
        { platform: "photoapp", status: "connected", photoapp_user_id: PAGES[0]?.instagram?.id },
        { platform: "socialapp", status: "connected", page_id: PAGES[0]?.id },
      ],
    );
    t.match((await api.call("GET", "/api/webhooks/config", { headers })).body, {
      webhook_url: "http://localhost:8090/_sandbox/inbox",
      webhook_secret_hint: `whsec_…${first.webhook_secret.slice(-4)}`,
    });
  });

  t.test("accepts the terms and activates one ad account", async (t) => {
    const headers = { "x-svc-api-key": first.api_key };
    t.match((await api.call("GET", "/api/marketing/terms", { headers })).body, {
      accepted: true,
      accepted_by: { email: first.email, role: "owner" },
    });
    t.match((await api.call("GET", "/api/marketing/ad-accounts", { headers })).body.data, [
      {
        account_id: AD_ACCOUNTS[0]?.id,
        name: AD_ACCOUNTS[0]?.name,
        status: "active",
        last_synced_at: String,
      },
    ]);
  });

  t.test("follows the sandbox to another port and keeps what was changed", async (t) => {
    const headers = { "x-svc-api-key": first.api_key };
    const again = (more: object = {}) =>
      createCommandRunner(t, { ...settings, ...known, ...more })(["demo", "--json"]);
    const address = async () => (await api.call("GET", "/api/webhooks/config", { headers })).body.webhook_url;
    await again({ SANDBOX_PORT: "8123" });
    t.equal(await address(), "http://localhost:8123/_sandbox/inbox");
    await again({ SANDBOX_PORT: "8124", CHAT_PLATFORM_URL: "https://graph.example.com/v26.0" });
    t.equal(
      await address(),
      "http://localhost:8123/_sandbox/inbox",
      "the sandbox does not simulate these platforms",
    );
    await api.db.query("update webhook_configs set webhook_url = 'https://shop.example.com'");
    const [channel] = (await api.call("GET", "/api/channels", { headers })).body.data;
    await api.call("DELETE", `/api/channels/${channel.channel_id}`, { headers });
    await again();
    t.equal(await address(), "https://shop.example.com");
    t.equal(
      (await api.call("GET", `/api/channels/${channel.channel_id}`, { headers })).body.status,
      "disconnected",
    );
  });

  t.test("finds an existing demo client and changes nothing", async (t) => {
    const { webhook_url, ...again } = (
      await createCommandRunner(t, { ...settings, ...known })(["demo", "--json"])
    ).json;
    t.same({ ...again, webhook_url: first.webhook_url }, first);
    t.equal(webhook_url, "https://shop.example.com", "the client's own backend stays");
    t.same((await createCommandRunner(t, settings)(["client", "list", "--json"])).json.data.length, 1);
  });

  t.test("replaces lost credentials and keeps the others", async (t) => {
    const lost = (
      await createCommandRunner(t, { ...settings, DEMO_API_KEY: first.api_key })(["demo", "--json"])
    ).json;
    t.match(lost, { client_id: first.client_id, api_key: first.api_key });
    t.not(lost.password, first.password);
    t.same(await loginStatuses(lost), [200, 200]);
    t.same(await loginStatuses(first), [401, 200]);

    const { id } = (await api.call("GET", "/api/auth/me", { headers: { "x-svc-api-key": first.api_key } }))
      .body.credential;
    await createCommandRunner(t, settings)(["key", "revoke", "--id", id]);
    const kept = { DEMO_PASSWORD: lost.password, DEMO_API_KEY: first.api_key };
    const revoked = (await createCommandRunner(t, { ...settings, ...kept })(["demo", "--json"])).json;
    t.equal(revoked.password, lost.password);
    t.same(await loginStatuses(revoked), [200, 200]);
    const known = { DEMO_PASSWORD: lost.password, DEMO_API_KEY: revoked.api_key };
    await api.db.query("update api_keys set expires_at = now() where revoked_at is null");
    const expired = (await createCommandRunner(t, { ...settings, ...known })(["demo", "--json"])).json;
    t.same(await loginStatuses(expired), [200, 200]);
    await until(
      "the revoked key is rejected",
      async () => (await loginStatuses({ ...revoked, ...first }))[1] === 401,
    );
  });

  t.test("completes an interrupted first run", async (t) => {
    const settings = await testSettings(t);
    const { db } = await startApi(t, { config: readConfig(settings) });
    const created = await createClientWithOwner(
      { db, passwords: createFastPasswords() },
      {
        name: "Demo client",
        owner: { email: first.email, name: "Demo owner", password: "never shown" },
        actorOf: (clientId) => makeActor(clientId),
      },
    );
    const herald = createCommandRunner(t, settings);
    t.match((await herald(["demo", "--json"])).json, {
      client_id: created.outcome === "created" && created.client.id,
      password: String,
      api_key: /^svc_test_/,
      chat_channel_id: /^ch_/,
    });
    t.equal((await herald(["client", "list", "--json"])).json.data.length, 1);
  });

  t.test("refuses to run in production", async (t) => {
    const platform = Object.fromEntries(
      [
        "AD_PLATFORM_URL",
        "AD_DIALOG_URL",
        "CHAT_PLATFORM_URL",
        "PHOTO_PLATFORM_URL",
        "SOCIAL_PLATFORM_URL",
        "SIGNUP_DIALOG_URL",
      ].map((name) => [name, "https://platform.example"]),
    );
    const app = {
      PLATFORM_APP_ID: "1",
      PLATFORM_APP_SECRET: "2",
      PLATFORM_VERIFY_TOKEN: "3",
      SIGNUP_CONFIG_ID: "4",
    };
    const strict = {
      ...settings,
      ...platform,
      ...app,
      NODE_ENV: "production",
      PUBLIC_URL: "https://herald.example",
    };
    t.match(await createCommandRunner(t, strict)(["demo"]), { code: 1, err: /no demo client in production/ });
    t.equal(
      (
        await createCommandRunner(
          t,
          strict,
        )([
          "key",
          "create",
          "--client",
          first.client_id,
          "--name",
          "k",
          "--scopes",
          "messages:send",
          "--json",
        ])
      ).json.key.slice(0, 9),
      "svc_live_",
    );
  });
});
