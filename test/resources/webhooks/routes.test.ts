import t, { type Test } from "tap";
import { createEventPoster } from "../../../src/delivery/post-event.ts";
import type { Resolver } from "../../../src/delivery/ssrf-guard.ts";
import { createDestinations } from "../../../src/delivery/ssrf-guard.ts";
import { deleteClient } from "../../../src/domain/tenants/delete-client.ts";
import { webhookRoutes } from "../../../src/resources/webhooks/routes.ts";
import { MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { openWebhookTokens } from "../../../src/security/sealed-tokens.ts";
import { createSecretBox, sealedContext } from "../../../src/security/secret-box.ts";
import { findWebhookConfig } from "../../../src/store/tenants/webhook-configs.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { testConfig } from "../../fixtures/processes/settings.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";

const OWN_TOKEN = "own-token-of-the-client-0042";

/** Addresses of the test's hosts. */
const DNS_RECORDS: Record<string, string[]> = {
  "public.example": ["8.8.8.8", "2606:4700::1"],
  "private.example": ["10.0.0.1"],
  "mixed.example": ["8.8.8.8", "127.0.0.1"],
  "mapped.example": ["::ffff:8.8.8.8"],
  "exempt.example": ["10.9.0.1"],
  "half-exempt.example": ["10.9.0.1", "8.8.8.8"],
  "xn--bcher-kva.example": ["8.8.8.8"],
};

const resolver: Resolver = async (host) => {
  if (host === "slow.example") return new Promise(() => {});
  const addresses = DNS_RECORDS[host.replace(/\.$/, "")];
  if (!addresses) throw new Error(`ENOTFOUND ${host}`);
  return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
};

const SETTINGS = { PUBLIC_URL: "https://herald.example:8443/base" };

/** Starts the webhook routes with the test's resolver. */
async function start(
  t: Test,
  settings: Record<string, string> = {},
  database?: (real: Api["db"]) => Api["db"],
) {
  const config = await testConfig(t, { ...SETTINGS, ...settings });
  const destinations = createDestinations(config.PRIVATE_DESTINATIONS);
  const poster = createEventPoster({ destinations, resolver });
  t.teardown(() => poster.close());
  const addresses = {
    destinations,
    publicUrl: config.PUBLIC_URL,
    resolver,
  };
  const secretBox = createSecretBox(config.ENCRYPTION_KEYS);
  const { log } = captureLog();
  const [notifier, stopping] = [{ notify: () => {} }, new AbortController().signal];
  const routes = () => webhookRoutes({ secretBox, poster, addresses, log, notifier, stopping });
  const api = await startApi(t, { config, routes, ...(database ? { database } : {}) });
  return { api, secretBox };
}

async function hooksOf(api: Api, tenant: Tenant) {
  const { headers } = await tenant.createKey("webhooks:manage");
  return {
    read: () => api.call("GET", "/api/webhooks/config", { headers }),
    update: (json: unknown) => api.call("PATCH", "/api/webhooks/config", { headers, json }),
    switchKey: (key: string, json: unknown) =>
      api.call("PATCH", `/api/webhooks/dispatch/${key}`, { headers, json }),
    generate: (json?: unknown) => api.call("POST", "/api/webhooks/config/generate-secret", { headers, json }),
  };
}

/** The encryption context that a rotation of the encryption keys uses. */
const formerContext = ({ id }: Tenant) =>
  sealedContext({ table: "webhook_configs", column: "former_secret_sealed", id });

const auditOf = (api: Api, { id }: Tenant) =>
  api.db.query<{ action: string; details: unknown }>(
    "select action, target, details from audit_log where client_id = $1 and action like 'webhook.%' order by id",
    [id],
  );

t.test("webhook configuration", async (t) => {
  const { api, secretBox } = await start(t);
  const newTenant = async () => {
    const tenant = await makeTenant(api);
    return { tenant, hooks: await hooksOf(api, tenant) };
  };
  const tokens = async ({ id }: Tenant) => openWebhookTokens(await findWebhookConfig(api.db, id), secretBox);

  t.test("a new client has an empty configuration", async (t) => {
    const { hooks } = await newTenant();
    const { status, body } = await hooks.read();
    t.equal(status, 200);
    const { dispatch_urls: urls, ...rest } = body;
    t.same(rest, {
      webhook_url: "",
      webhook_secret_set: false,
      webhook_secret_hint: "",
      configured: false,
      token_header: true,
      signature_header: "x-webhook-token",
    });
    t.match(urls.platforms.chatapp, { enabled: true, url: null, routes: [{ url: null }] });
    t.match(urls.services.marketing, { enabled: true, url: null });
    t.equal(urls.embedded_signup.url, null);
  });

  t.test("the configuration lists every URL and its event types", async (t) => {
    const { hooks } = await newTenant();
    const { body } = await hooks.update({ webhook_url: "https://public.example/in" });
    t.match(body, { webhook_url: "https://public.example/in", configured: true });
    const base = "https://public.example/in";
    const messaging = (path: string, template: object[] = []) => ({
      enabled: true,
      url: `${base}${path}`,
      events: ["platform.event"],
      routes: [
        { url: `${base}${path}/receiveMessage`, events: ["message.received"] },
        { url: `${base}${path}/updateMessageStatus`, events: ["message.status"] },
        { url: `${base}${path}/sendResult`, events: ["message.send_result"] },
        { url: `${base}${path}/updateBatch`, events: ["batch.updated"] },
        ...template,
        { url: `${base}${path}/updateChannel`, events: ["channel.updated", "channel.disconnected"] },
      ],
    });
    const template = {
      url: `${base}/chat/updateTemplateStatus`,
      events: ["template.status_updated", "template.quality_updated", "template.category_updated"],
    };
    const { platforms, services, embedded_signup } = body.dispatch_urls;
    t.same(platforms, {
      chatapp: messaging("/chat", [template]),
      photoapp: messaging("/photo"),
      socialapp: messaging("/social"),
    });
    t.same(Object.keys(services), ["marketing", "publishing"]);
    t.match(services.marketing, { enabled: true, url: `${base}/marketing/events` });
    t.equal(services.marketing.events.length, 11);
    t.equal(services.publishing.url, `${base}/publishing/events`);
    t.same(services.publishing.events.slice(0, 2), ["comment.created", "comment.updated"]);
    t.same(embedded_signup, {
      url: `${base}/embedded-signup/events`,
      events: ["channel.connected", "embed_session.failed"],
    });
    t.same((await hooks.read()).body, body);
  });

  t.test("webhook_url is stored in normalised form", async (t) => {
    const { hooks } = await newTenant();
    const CASES: [string, string][] = [
      ["https://public.example", "https://public.example"],
      ["https://public.example/", "https://public.example"],
      ["https://public.example///", "https://public.example"],
      ["HTTPS://PUBLIC.Example:443/A/", "https://public.example/A"],
      ["https://public.example:8443/a//b/", "https://public.example:8443/a//b"],
      ["https://public.example/a/../b/./c", "https://public.example/b/c"],
      ["https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"],
      ["https://public.example/@a", "https://public.example/@a"],
      ["https://134744072/x", "https://8.8.8.8/x"],
      ["https://[2606:4700:0:0::1]/x", "https://[2606:4700::1]/x"],
      ["https://public.example./x", "https://public.example./x"],
      ["https://nowhere.example/x", "https://nowhere.example/x"],
    ];
    for (const [given, normalized] of CASES) {
      const reply = await hooks.update({ webhook_url: given });
      t.equal(reply.status, 200, given);
      t.equal(reply.body.webhook_url, normalized, given);
    }
  });

  t.test("a webhook_url with an invalid host is refused with a hint at punycode", async (t) => {
    const { hooks } = await newTenant();
    for (const webhook_url of [
      "https://xn--a.example/x",
      "https://bü\u200dcher%.example",
      "https://a..example",
    ])
      t.match(await hooks.update({ webhook_url }), {
        status: 400,
        body: { message: /must have a valid host and port; .* punycode form, such as xn--/ },
      });
  });

  t.test("a webhook_url that events must not go to is refused, and the old one is kept", async (t) => {
    const { hooks, tenant } = await newTenant();
    await hooks.update({ webhook_url: "https://public.example/kept" });
    const bad: unknown[] = [
      "public.example",
      "/path",
      "https",
      "https://",
      "https:///public.example",
      "https://.",
      "https://..",
      "https://.public.example",
      "https://public..example",
      `https://${"a".repeat(64)}.example`,
      `https://${"a.".repeat(130)}example`,
      "https://public.example:0",
      "https:public.example",
      "https:\\\\public.example",
      "ftp://public.example",
      "file:///etc/passwd",
      "javascript:alert(1)",
      "http://public.example",
      "http://nowhere.example",
      "http://10.9.0.1",
      "https://user@public.example",
      "https://user:password@public.example",
      "https://:password@public.example",
      "https://@public.example",
      "https://public.example/?a=1",
      "https://public.example/?",
      "https://public.example/#a",
      "https://public.example/#",
      " https://public.example",
      "https://public.example ",
      "https://public.example/a b",
      "https://public.example/a\nb",
      "https://public.example/a\tb",
      "https://public.example/a\u0000b",
      "https://public.example/a\u0085b",
      "https://public.example/a\u00a0b",
      "https://public.example/\ud800",
      "https://public.example:99999",
      "https://exa mple.com",
      "https://[::1",
      `https://public.example/${"a".repeat(2_048)}`,
      `https://public.example/${"ü".repeat(400)}`,
      "https://herald.example:8443",
      "https://herald.example:8443/elsewhere",
      "https://HERALD.example.:8443/elsewhere",
      "https://127.0.0.1",
      "https://127.1",
      "https://2130706433",
      "https://0x7f.1",
      "https://0",
      "https://10.0.0.1:8443",
      "https://169.254.169.254",
      "https://[::1]",
      "https://[::ffff:127.0.0.1]",
      "https://[::ffff:8.8.8.8]",
      "https://[::127.0.0.1]",
      "https://[fe80::1]",
      "https://private.example",
      "https://private.example.",
      "https://mixed.example",
      "https://mapped.example",
      7,
      {},
      [],
      true,
    ];
    for (const webhook_url of bad) {
      const reply = await hooks.update({ webhook_url });
      t.equal(reply.status, 400, JSON.stringify(webhook_url));
      t.match(reply.body, { error: "validation_failed", details: [{ path: "/webhook_url" }] });
    }
    t.equal((await hooks.read()).body.webhook_url, "https://public.example/kept");
    t.equal((await auditOf(api, tenant)).length, 1);
  });

  t.test("a webhook_url may have up to 2,048 characters", async (t) => {
    const { hooks } = await newTenant();
    const start = "https://public.example/";
    const longestUrl = start + "a".repeat(2_048 - start.length);
    t.equal((await hooks.update({ webhook_url: `${longestUrl}a` })).status, 400);
    t.equal((await hooks.update({ webhook_url: longestUrl })).body.webhook_url, longestUrl);
  });

  t.test("another port of Herald's own host is allowed", async (t) => {
    const { hooks } = await newTenant();
    DNS_RECORDS["herald.example"] = ["8.8.8.8"];
    t.equal((await hooks.update({ webhook_url: "https://herald.example/in" })).status, 200);
  });

  t.test("a host that does not resolve in time is accepted", async (t) => {
    const { hooks } = await newTenant();
    const began = Date.now();
    t.equal((await hooks.update({ webhook_url: "https://slow.example" })).status, 200);
    const elapsedMs = Date.now() - began;
    t.ok(elapsedMs >= 1.9 * SECOND, `${elapsedMs} ms`);
  });

  t.test("an empty webhook_url clears it, and null leaves it unchanged", async (t) => {
    const { hooks, tenant } = await newTenant();
    await hooks.update({ webhook_url: "https://public.example" });
    t.match((await hooks.update({ webhook_url: null })).body, { configured: true });
    t.match((await hooks.update({ webhook_url: "" })).body, { configured: false, webhook_url: "" });
    t.same(
      (await auditOf(api, tenant)).map(({ details }) => details),
      [
        { webhook_url: { from: null, to: "https://public.example" } },
        { webhook_url: { from: "https://public.example", to: null } },
      ],
    );
  });

  t.test("the client's own token is stored encrypted and shown only by its last characters", async (t) => {
    const { hooks, tenant } = await newTenant();
    const { body, text } = await hooks.update({ webhook_secret: OWN_TOKEN });
    t.match(body, { webhook_secret_set: true, webhook_secret_hint: "whsec_…0042", configured: false });
    t.notMatch(text + (await hooks.read()).text, OWN_TOKEN);
    t.same(await tokens(tenant), { current: OWN_TOKEN });
    const [row] = await api.db.query<object>("select * from webhook_configs where client_id = $1", [
      tenant.id,
    ]);
    t.notMatch(JSON.stringify(row), OWN_TOKEN);
    const cleared = await hooks.update({ webhook_secret: null });
    t.match(cleared.body, { webhook_secret_set: false, webhook_secret_hint: "" });
    t.same(await tokens(tenant), {});
    const audit = await auditOf(api, tenant);
    t.same(audit, [
      { action: "webhook.config_updated", target: tenant.id, details: { secret: "set" } },
      { action: "webhook.config_updated", target: tenant.id, details: { secret: "cleared" } },
    ]);
  });

  t.test("a token that is too short, too long or not visible ASCII is refused", async (t) => {
    const { hooks } = await newTenant();
    for (const length of [16, 256])
      t.equal((await hooks.update({ webhook_secret: "x".repeat(length) })).status, 200, `${length}`);
    for (const webhook_secret of [
      "",
      "x".repeat(15),
      "x".repeat(257),
      `${OWN_TOKEN} `,
      `${OWN_TOKEN}\n`,
      `${OWN_TOKEN}\u0000`,
      `${OWN_TOKEN}ü`,
      `${OWN_TOKEN}\x7f`,
      7,
      true,
      [],
    ]) {
      const reply = await hooks.update({ webhook_secret });
      t.equal(reply.status, 400, JSON.stringify(webhook_secret));
      t.match(reply.body.details, [{ path: "/webhook_secret" }]);
      t.notMatch(reply.text, OWN_TOKEN);
    }
  });

  t.test("token_header is stored for its client only, and recorded in the audit log", async (t) => {
    const [{ hooks, tenant }, other] = [await newTenant(), await newTenant()];
    await hooks.update({ webhook_secret: OWN_TOKEN });
    t.match((await hooks.update({ token_header: false })).body, {
      token_header: false,
      webhook_secret_set: true,
    });
    t.match((await hooks.update({ webhook_url: "https://public.example" })).body, { token_header: false });
    t.equal((await other.hooks.read()).body.token_header, true);
    t.match(await auditOf(api, tenant), [{}, { details: { token_header: false } }, {}]);
    t.equal((await hooks.update({ token_header: true })).body.token_header, true);
  });

  t.test("unknown fields and wrong types are refused", async (t) => {
    const { hooks } = await newTenant();
    for (const json of [
      { url: "https://public.example" },
      { configured: true },
      { token_header: "false" },
      { token_header: 0 },
      [],
    ])
      t.equal((await hooks.update(json)).status, 400);
  });

  t.test("a generated token is shown only once", async (t) => {
    const { hooks, tenant } = await newTenant();
    const { status, body } = await hooks.generate();
    t.equal(status, 201);
    t.same(Object.keys(body), ["webhook_secret"]);
    t.match(body.webhook_secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    t.same(await tokens(tenant), { current: body.webhook_secret });
    const read = await hooks.read();
    t.equal(read.body.webhook_secret_hint, `whsec_…${body.webhook_secret.slice(-4)}`);
    t.notMatch(read.text, body.webhook_secret.slice(6, 40));
    t.not((await hooks.generate({})).body.webhook_secret, body.webhook_secret);
    const audit = await auditOf(api, tenant);
    t.match(audit, [{ action: "webhook.secret_generated", details: { grace_minutes: 0 } }, {}]);
    t.notMatch(JSON.stringify(audit), "whsec_");
  });

  t.test("the former token stays valid only during the grace period", async (t) => {
    const { hooks, tenant } = await newTenant();
    const first = (await hooks.generate({ grace_minutes: 60 })).body.webhook_secret;
    t.same(await tokens(tenant), { current: first }, "there was no token before");
    const second = (await hooks.generate({ grace_minutes: 60 })).body.webhook_secret;
    t.same(await tokens(tenant), { current: second, former: first });
    const { former_secret_sealed, former_secret_until: until } = await findWebhookConfig(api.db, tenant.id);
    const remainingMs = (until as Date).getTime() - Date.now();
    t.equal(secretBox.open(former_secret_sealed as string, formerContext(tenant)), first);
    t.ok(remainingMs > 59 * MINUTE && remainingMs <= 60 * MINUTE);
    const third = (await hooks.generate({ grace_minutes: 10_080 })).body.webhook_secret;
    t.same(await tokens(tenant), { current: third, former: second });
    await api.db.query("update webhook_configs set former_secret_until = now() where client_id = $1", [
      tenant.id,
    ]);
    t.same(await tokens(tenant), { current: third });
    t.match((await auditOf(api, tenant)).at(-1), { details: { grace_minutes: 10_080 } });
  });

  t.test("the grace period ends with a rotation without one or a set or cleared token", async (t) => {
    const { hooks, tenant } = await newTenant();
    const startGrace = async () => {
      await hooks.update({ webhook_secret: OWN_TOKEN });
      return (await hooks.generate({ grace_minutes: 60 })).body.webhook_secret;
    };
    await startGrace();
    const { webhook_secret } = (await hooks.generate({})).body;
    t.same(await tokens(tenant), { current: webhook_secret });
    const current = await startGrace();
    await hooks.update({ webhook_secret: current });
    t.same(await tokens(tenant), { current }, "setting the same token again");
    await startGrace();
    await hooks.update({ webhook_secret: null });
    t.same(await tokens(tenant), {});
    await startGrace();
    await hooks.update({ webhook_url: "https://public.example" });
    t.equal((await tokens(tenant)).former, OWN_TOKEN, "a change of webhook_url keeps the tokens");
    const { former_secret_sealed } = await findWebhookConfig(api.db, tenant.id);
    t.ok(former_secret_sealed);
  });

  t.test("an invalid grace period is refused", async (t) => {
    const { hooks } = await newTenant();
    for (const grace_minutes of [-1, 10_081, 1.5, "1", null])
      t.equal((await hooks.generate({ grace_minutes })).status, 400, JSON.stringify(grace_minutes));
    t.equal((await hooks.generate({ minutes: 1 })).status, 400);
    t.match((await hooks.read()).body, { webhook_secret_set: false });
  });

  t.test("a token that cannot be decrypted can be replaced", async (t) => {
    const { hooks, tenant } = await newTenant();
    await hooks.update({ webhook_secret: OWN_TOKEN });
    await api.db.query("update webhook_configs set secret_sealed = 'lost.xyz' where client_id = $1", [
      tenant.id,
    ]);
    t.equal((await hooks.read()).status, 200);
    t.equal((await hooks.update({ webhook_url: "https://public.example" })).status, 200);
    t.equal((await hooks.generate({ grace_minutes: 5 })).status, 201);
    await api.db.query("update webhook_configs set secret_sealed = 'lost.xyz' where client_id = $1", [
      tenant.id,
    ]);
    t.equal((await hooks.update({ webhook_secret: OWN_TOKEN })).status, 200);
    t.same(await tokens(tenant), { current: OWN_TOKEN });
  });

  t.test("each dispatch key is enabled and disabled separately", async (t) => {
    const { hooks, tenant } = await newTenant();
    const disabledKeys = (body: { dispatch_urls: Record<string, Record<string, { enabled: boolean }>> }) =>
      Object.entries({ ...body.dispatch_urls.platforms, ...body.dispatch_urls.services })
        .filter(([, { enabled }]) => !enabled)
        .map(([key]) => key);
    for (const key of ["chatapp", "photoapp", "socialapp", "marketing", "publishing"]) {
      const off = await hooks.switchKey(key, { enabled: false });
      t.equal(off.status, 200);
      t.same(disabledKeys(off.body), [key]);
      t.same(disabledKeys((await hooks.read()).body), [key]);
      t.same(disabledKeys((await hooks.switchKey(key, { enabled: false })).body), [key]);
      t.same(disabledKeys((await hooks.switchKey(key, { enabled: true })).body), []);
    }
    await hooks.switchKey("chatapp", { enabled: false });
    t.same(disabledKeys((await hooks.switchKey("marketing", { enabled: false })).body), [
      "chatapp",
      "marketing",
    ]);
    const audit = await auditOf(api, tenant);
    t.match(audit[0], { action: "webhook.switched", details: { key: "chatapp", enabled: false } });
    t.match(audit[1], { action: "webhook.switched", details: { key: "chatapp", enabled: true } });
    t.equal(audit.length, 12, "requests without a change are not audited");
  });

  t.test("an unknown dispatch key is refused", async (t) => {
    const { hooks } = await newTenant();
    for (const key of ["embedded_signup", "billing", "CHATAPP", "constructor", "%20", "x".repeat(500)]) {
      const reply = await hooks.switchKey(key, { enabled: false });
      t.equal(reply.status, 400, key);
      t.equal(reply.body.error, "unknown_dispatch_key", key);
    }
    t.equal((await hooks.switchKey("%00", { enabled: false })).body.error, "validation_failed");
    for (const json of [{}, { enabled: "false" }, { enabled: null }, { enabled: 0 }, { enabled: true, x: 1 }])
      t.equal((await hooks.switchKey("chatapp", json)).body.error, "validation_failed", JSON.stringify(json));
  });

  t.test("each client has its own configuration", async (t) => {
    const [one, other] = [await newTenant(), await newTenant()];
    await one.hooks.update({ webhook_url: "https://public.example", webhook_secret: OWN_TOKEN });
    await one.hooks.switchKey("chatapp", { enabled: false });
    const { body } = await other.hooks.read();
    t.match(body, { configured: false, webhook_secret_set: false });
    t.equal(body.dispatch_urls.platforms.chatapp.enabled, true);
  });

  t.test("concurrent changes are all kept", async (t) => {
    const { hooks, tenant } = await newTenant();
    const replies = await Promise.all([
      hooks.update({ webhook_url: "https://public.example" }),
      hooks.update({ webhook_secret: OWN_TOKEN }),
      ...["chatapp", "photoapp", "socialapp", "marketing", "publishing"].map((key) =>
        hooks.switchKey(key, { enabled: false }),
      ),
    ]);
    t.same(new Set(replies.map(({ status }) => status)), new Set([200]));
    const { body } = await hooks.read();
    t.match(body, { webhook_url: "https://public.example", webhook_secret_hint: "whsec_…0042" });
    t.equal((await findWebhookConfig(api.db, tenant.id)).disabled_keys.length, 5);
    t.equal((await auditOf(api, tenant)).length, 7);
  });

  t.test("an erased client gets 401", async (t) => {
    const { hooks, tenant } = await newTenant();
    await hooks.read(); // caches its credential
    await deleteClient(api.db, tenant.id);
    for (const reply of [await hooks.update({ webhook_secret: OWN_TOKEN }), await hooks.generate()])
      t.equal(reply.status, 401);
  });
});

t.test("an update without changes writes nothing", async (t) => {
  const { statements, database } = watchStatements();
  const { api } = await start(t, {}, database);
  const tenant = await makeTenant(api);
  const hooks = await hooksOf(api, tenant);
  const countWrites = () =>
    statements.filter((text) => /insert into (webhook_configs|audit_log)/.test(text)).length;
  const expectNoWrite = async (json: object) => {
    const before = countWrites();
    const reply = await hooks.update(json);
    t.equal(reply.status, 200);
    t.equal(countWrites(), before, JSON.stringify(json));
    return reply.body;
  };
  await expectNoWrite({});
  await expectNoWrite({ webhook_url: "", webhook_secret: null });
  await expectNoWrite({ webhook_url: null });
  await expectNoWrite({ token_header: true });
  await expectNoWrite({ token_header: null });
  t.equal((await api.db.query("select 1 from webhook_configs")).length, 0);
  const set = await hooks.update({ webhook_url: "https://public.example/a", webhook_secret: OWN_TOKEN });
  t.same(
    await expectNoWrite({ webhook_url: "HTTPS://public.example/a/", webhook_secret: OWN_TOKEN }),
    set.body,
  );
  t.same(await expectNoWrite({}), set.body);
  const before = countWrites();
  t.equal((await hooks.switchKey("chatapp", { enabled: true })).status, 200);
  t.equal(countWrites(), before);
});

t.test("addresses in PRIVATE_DESTINATIONS are allowed as webhook_url, also with http", async (t) => {
  const { api } = await start(t, { PRIVATE_DESTINATIONS: "10.9.0.0/16,127.0.0.0/8" });
  const hooks = await hooksOf(api, await makeTenant(api));
  const CASES: [string, number][] = [
    ["http://10.9.0.1:8080/in", 200],
    ["https://10.9.0.1", 200],
    ["http://127.0.0.1:3000", 200],
    ["http://exempt.example", 200],
    ["https://exempt.example", 200],
    ["http://nowhere.example", 400],
    ["https://nowhere.example", 200],
    ["http://slow.example", 400],
    ["https://half-exempt.example", 200],
    ["http://half-exempt.example", 400],
    ["http://public.example", 400],
    ["http://8.8.8.8", 400],
    ["http://private.example", 400],
    ["https://private.example", 400],
    ["https://10.8.0.1", 400],
    ["https://[::ffff:10.9.0.1]", 400],
    ["https://mixed.example", 200],
  ];
  for (const [webhook_url, status] of CASES)
    t.equal((await hooks.update({ webhook_url })).status, status, webhook_url);
});
