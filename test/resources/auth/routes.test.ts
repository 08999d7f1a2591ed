import { randomBytes, randomUUID } from "node:crypto";
import t from "tap";
import { deleteClient } from "../../../src/domain/tenants/delete-client.ts";
import { ROLE_SCOPES, ROLES, SCOPES } from "../../../src/schema/enumerations.ts";
import { createUserTokens } from "../../../src/security/user-tokens.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";
import { startIdentityProvider } from "../../fixtures/tenants/identity-provider.ts";
import { makeTenant, PASSWORD } from "../../fixtures/tenants/tenants.ts";

const ME = "/api/auth/me";
const CONSOLE_HEADERS = { "x-herald-console": "1" };

const login = (api: Api, json: unknown, headers: Record<string, string> = {}) =>
  api.call("POST", "/api/auth/login", { json, headers });

const unknownEmail = () => `${randomBytes(6).toString("hex")}@example.com`;

t.test("caller identity", async (t) => {
  const api = await startApi(t);

  t.test("an API key gets its name, scopes and client", async (t) => {
    const tenant = await makeTenant(api, "Corner Shop");
    const key = await tenant.createKey("messages:send", "marketing:read");
    const reply = await api.call("GET", ME, { headers: key.headers });
    t.same(reply.body, {
      client_id: tenant.id,
      client_name: "Corner Shop",
      credential: { type: "api_key", id: key.id, name: "k" },
      role: null,
      scopes: ["messages:send", "marketing:read"],
    });
  });

  t.test("a user gets the role and its scopes", async (t) => {
    const tenant = await makeTenant(api);
    for (const role of ROLES) {
      const person = await tenant.createUser(role);
      const { body } = await api.call("GET", ME, { headers: person.headers });
      t.match(body, { client_id: tenant.id, credential: { type: "user", id: person.id }, role });
      t.same(body.scopes, [...ROLE_SCOPES[role]]);
    }
    t.same([...ROLE_SCOPES.owner], SCOPES);
    t.same([...ROLE_SCOPES.viewer], ["marketing:read"]);
  });

  t.test("every invalid credential gets 401", async (t) => {
    const tenant = await makeTenant(api);
    const { text } = await tenant.createKey("messages:send");
    const { token } = await tenant.createUser("owner");
    const wrong: Record<string, Record<string, string>> = {
      "an empty key": { "x-svc-api-key": "" },
      "a valid key id with another secret": { "x-svc-api-key": text.slice(0, -43) + "x".repeat(43) },
      "a key of the other environment": { "x-svc-api-key": text.replace("svc_test", "svc_live") },
      "an invalid key as Bearer token": { authorization: `Bearer ${text.slice(0, -1)}` },
      "a user token as key": { "x-svc-api-key": token },
      "a token with a truncated signature": { authorization: `Bearer ${token.slice(0, -4)}` },
      "no token after Bearer": { authorization: "Bearer " },
      "another scheme": { authorization: `Basic ${token}` },
    };
    for (const [what, headers] of Object.entries(wrong)) {
      const reply = await api.call("GET", ME, { headers });
      t.equal(reply.status, 401, what);
      t.ok(reply.headers.has("www-authenticate"), what);
    }
  });

  t.test("a token that names another client than its user's gets 401", async (t) => {
    const [one, other] = [await makeTenant(api), await makeTenant(api)];
    const person = await one.createUser("owner");
    const token = await createUserTokens(api.config).issue?.({ id: person.id, clientId: other.id });
    t.equal((await api.call("GET", ME, { headers: { authorization: `Bearer ${token}` } })).status, 401);
  });

  t.test("an API key is accepted as a Bearer token, and in both headers at once", async (t) => {
    const tenant = await makeTenant(api);
    const { text, id } = await tenant.createKey("messages:send");
    for (const headers of [
      { authorization: `Bearer ${text}` },
      { authorization: `bearer  ${text} ` },
      { authorization: `Bearer ${text}`, "x-svc-api-key": text },
    ]) {
      const { status, body } = await api.call("GET", ME, { headers });
      t.equal(status, 200);
      t.match(body, { client_id: tenant.id, credential: { type: "api_key", id }, scopes: ["messages:send"] });
    }
    const denied = await api.call("GET", "/api/keys", { headers: { authorization: `Bearer ${text}` } });
    t.equal(denied.body.error, "console_only");
  });

  t.test("a request with two different credentials gets 400", async (t) => {
    const tenant = await makeTenant(api);
    const [key, other] = [await tenant.createKey(), await tenant.createKey()];
    const user = await tenant.createUser("owner");
    for (const headers of [
      { ...key.headers, ...user.headers },
      { ...key.headers, authorization: `Bearer ${other.text}` },
    ]) {
      const reply = await api.call("GET", ME, { headers });
      t.equal(reply.status, 400);
      t.equal(reply.body.error, "ambiguous_credentials");
    }
  });
});

t.test("login", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);

  t.test("the right password returns a token, the user and the cookie", async (t) => {
    const person = await tenant.createUser("admin");
    const reply = await login(api, { email: person.email.toUpperCase(), password: PASSWORD });
    t.equal(reply.status, 200);
    t.match(reply.body, {
      expires_in: 43_200,
      user: { id: person.id, email: person.email, role: "admin", client_id: tenant.id },
    });
    const headers = { authorization: `Bearer ${reply.body.token}` };
    t.equal((await api.call("GET", ME, { headers })).body.credential.id, person.id);
    t.equal(
      reply.headers.get("set-cookie"),
      `herald_console=${reply.body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict`,
    );
  });

  t.test("a wrong password, an unknown email and a disabled user get the same reply", async (t) => {
    const [person, disabled] = [await tenant.createUser("member"), await tenant.createUser("member")];
    await api.db.query("update users set enabled = false where id = $1", [disabled.id]);
    const replies = [
      await login(api, { email: person.email, password: "wrong" }),
      await login(api, { email: person.email, password: "" }),
      await login(api, { email: unknownEmail(), password: PASSWORD }),
      await login(api, { email: disabled.email, password: PASSWORD }),
    ];
    for (const { status, body, headers } of replies) {
      t.equal(status, 401);
      t.match(body, { error: "unauthorized", message: "The email or the password is wrong" });
      t.ok(headers.has("www-authenticate"));
      t.notOk(headers.has("set-cookie"));
    }
  });

  const email = unknownEmail();
  const bad: Record<string, unknown> = {
    "an empty object": {},
    "no password": { email },
    "no email": { password: PASSWORD },
    "an unknown field": { email, password: PASSWORD, remember: true },
    "an email that is a number": { email: 7, password: PASSWORD },
    "an email that is null": { email: null, password: PASSWORD },
    "an email that is a list": { email: [email], password: PASSWORD },
    "an email that is an object": { email: { $ne: "" }, password: PASSWORD },
    "a malformed email": { email: "somebody", password: PASSWORD },
    "an empty email": { email: "", password: PASSWORD },
    "an overlong email": { email: `${"x".repeat(250)}@example.com`, password: PASSWORD },
    "a password that is a number": { email, password: 12_345_678 },
    "an overlong password": { email, password: "x".repeat(1_025) },
    "U+0000 in the email": { email: "a\u0000@example.com", password: PASSWORD },
    "U+0000 in the password": { email, password: "secret\u0000" },
    "an unpaired surrogate in the email": { email: "a\ud800@example.com", password: PASSWORD },
    "an unpaired surrogate in the password": { email, password: "secret\udc00" },
    "a list": [email, PASSWORD],
    "a text": "email",
  };

  t.test("invalid input gets 400 without repeating the password", async (t) => {
    for (const [what, json] of Object.entries(bad)) {
      const { status, body, text } = await login(api, json);
      t.equal(status, 400, what);
      t.equal(body.error, "validation_failed", what);
      t.notMatch(text, PASSWORD, `${what}: the reply omits the password`);
    }
    const reply = await api.call("POST", "/api/auth/login", { raw: `{"password":"${PASSWORD}"` });
    t.equal(reply.status, 400);
    t.notMatch(reply.text, PASSWORD);
  });

  t.test("a login fails when the password changes during the check", async (t) => {
    const person = await tenant.createUser("member");
    const holder = await connectRawClient(t, api.config.DATABASE_URL);
    await holder.query("begin");
    await holder.query("update users set password_hash = 'another' where id = $1", [person.id]);
    const pendingLogin = login(api, { email: person.email, password: PASSWORD });
    await untilBlocked(holder, 1);
    await holder.query("commit");
    t.equal((await pendingLogin).status, 401);
  });

  t.test("a login from another site gets no cookie", async (t) => {
    const person = await tenant.createUser("member");
    const credentials = { email: person.email, password: PASSWORD };
    for (const [site, hasCookie] of [
      ["cross-site", false],
      ["same-site", false],
      ["same-origin", true],
      ["none", true],
    ] as const) {
      const reply = await login(api, credentials, { "sec-fetch-site": site });
      t.equal(reply.status, 200, site);
      t.equal(reply.headers.has("set-cookie"), hasCookie, site);
    }
  });
});

t.test("the cookie is Secure and has the prefix __Host- when PUBLIC_URL is https", async (t) => {
  const api = await startApi(t, { settings: { PUBLIC_URL: "https://herald.example" } });
  const person = await (await makeTenant(api)).createUser("viewer");
  const { headers } = await login(api, { email: person.email, password: PASSWORD });
  const set = headers.get("set-cookie") ?? "";
  t.match(set, /^__Host-herald_console=\S+; Path=\/; .*; HttpOnly; SameSite=Strict; Secure$/);
  const [cookie = ""] = set.split(";");
  const me = (cookie: string) => api.call("GET", ME, { headers: { cookie, ...CONSOLE_HEADERS } });
  t.equal((await me(cookie)).body.credential.id, person.id);
  t.equal((await me(cookie.replace("__Host-", ""))).status, 401, "another host could have set this name");
  const crossSiteLogout = await api.call("POST", "/api/auth/logout", {
    headers: { "sec-fetch-site": "cross-site" },
  });
  t.equal(
    crossSiteLogout.headers.get("set-cookie"),
    null,
    "a request from another site does not clear the cookie",
  );
  const cleared = await api.call("POST", "/api/auth/logout");
  t.equal(cleared.status, 204);
  t.equal(
    cleared.headers.get("set-cookie"),
    "__Host-herald_console=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure",
  );
});

t.test("console cookie", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const person = await tenant.createUser("member");
  const key = await tenant.createKey("messages:send");
  const cookie = { cookie: `theme=dark; herald_console=${person.token}` };
  const me = (headers: Record<string, string>) => api.call("GET", ME, { headers });

  t.test("the cookie is a credential only together with the console's header", async (t) => {
    t.equal((await me({ ...cookie, ...CONSOLE_HEADERS })).body.credential.id, person.id);
  });

  t.test("the cookie without the header gets 401, so another site cannot use it", async (t) => {
    t.equal((await me(cookie)).status, 401);
    t.equal((await me({ ...cookie, "x-herald-console": "0" })).status, 401);
    t.equal((await me({ ...cookie, "x-herald-console": "" })).status, 401);
  });

  t.test("an API key takes precedence over the cookie unless the console's header is set", async (t) => {
    t.equal((await me({ ...cookie, ...key.headers })).body.credential.id, key.id);
    const both = await me({ ...cookie, ...key.headers, ...CONSOLE_HEADERS });
    t.equal(both.status, 400);
    t.equal(both.body.error, "ambiguous_credentials");
    t.equal((await me({ ...cookie, ...person.headers, ...CONSOLE_HEADERS })).status, 200, "the same token");
    const other = await tenant.createUser("owner");
    const two = await me({ ...cookie, ...other.headers, ...CONSOLE_HEADERS });
    t.equal(two.body.error, "ambiguous_credentials");
  });

  t.test("the header alone is not a credential", async (t) => {
    t.equal((await me(CONSOLE_HEADERS)).status, 401);
    t.equal((await me({ ...CONSOLE_HEADERS, ...key.headers })).status, 200);
  });

  t.test("a forged or empty cookie is refused", async (t) => {
    for (const value of ["", "x", person.token.slice(0, -4)])
      t.equal((await me({ ...CONSOLE_HEADERS, cookie: `herald_console=${value}` })).status, 401, value);
  });
});

for (const [condition, settings] of [
  ["with Redis", {}],
  ["without Redis", { REDIS_URL: "redis://127.0.0.1:1" }],
] as const)
  t.test(`the eleventh failed login in a minute is refused ${condition}`, async (t) => {
    const api = await startApi(t, { settings: { TRUST_PROXY: "1", ...settings } });
    const tenant = await makeTenant(api);
    const [person, other] = [await tenant.createUser("owner"), await tenant.createUser("owner")];
    const from = (address: string) => ({ "x-forwarded-for": `203.0.113.99, ${address}` });
    const wrong = (email: string, address: string) => login(api, { email, password: "wrong" }, from(address));

    const clientAddress = "192.0.2.1";
    t.equal((await login(api, { email: person.email, password: PASSWORD }, from(clientAddress))).status, 200);
    const failures = Array.from({ length: 10 }, (_, count) =>
      wrong(count % 2 ? person.email : person.email.toUpperCase(), clientAddress),
    );
    for (const failure of failures) t.equal((await failure).status, 401);
    const eleventh = await wrong(person.email, clientAddress);
    t.equal(eleventh.status, 429);
    t.equal(eleventh.body.error, "rate_limited");
    const wait = Number(eleventh.headers.get("retry-after"));
    t.ok(wait >= 1 && wait <= 60, `Retry-After is ${wait}`);
    const right = await login(api, { email: person.email, password: PASSWORD }, from(clientAddress));
    t.equal(right.status, 429, "the right password is not checked either");
    t.equal((await wrong(other.email, clientAddress)).status, 401, "another email is not limited");
    t.equal((await wrong(person.email, "192.0.2.2")).status, 401, "another address is not limited");
  });

t.test("authentication with an identity provider only", async (t) => {
  const provider = await startIdentityProvider(t);
  const key = await provider.addKey("ES256");
  const api = await startApi(t, { settings: { JWT_SECRET: "", ...provider.settings } });
  const tenant = await makeTenant(api, "Corner Shop");
  const me = async (claims: Record<string, unknown>) => {
    const token = await key.sign({ client_id: tenant.id, ...claims });
    return api.call("GET", ME, { headers: { authorization: `Bearer ${token}` } });
  };

  t.test("login is not available", async (t) => {
    const reply = await login(api, { email: unknownEmail(), password: PASSWORD });
    t.equal(reply.status, 404);
    t.equal(reply.body.error, "not_found");
    t.equal((await api.call("POST", "/api/auth/logout")).status, 204);
  });

  t.test("the token's claims determine user, role and scopes", async (t) => {
    const { body } = await me({ sub: "ann", role: "viewer", name: "Ann", email: "ann@example.com" });
    t.same(body, {
      client_id: tenant.id,
      client_name: "Corner Shop",
      credential: { type: "user", id: "ann", name: "Ann" },
      role: "viewer",
      scopes: ["marketing:read"],
    });
    const byEmail = await me({ sub: "ann", email: "ann@example.com" });
    t.equal(byEmail.body.credential.name, "ann@example.com");
    t.equal((await me({ sub: "ann", name: "" })).body.credential.name, "ann");
  });

  t.test("an unknown client or role gets 401", async (t) => {
    t.equal((await me({ client_id: randomUUID() })).status, 401);
    t.equal((await me({ client_id: "corner-shop" })).status, 401);
    t.equal((await me({ client_id: 7 })).status, 401);
    t.equal((await me({ role: "king" })).status, 401);
    t.equal((await me({ role: ["owner"] })).status, 401);
  });

  t.test("the client's API keys still work", async (t) => {
    const { headers } = await tenant.createKey("messages:send");
    t.equal((await api.call("GET", ME, { headers })).status, 200);
  });
});

t.test("users get 503 while the identity provider is unavailable", async (t) => {
  const provider = await startIdentityProvider(t);
  const token = await (await provider.addKey("ES256")).sign();
  provider.fail();
  const api = await startApi(t, { settings: { JWT_SECRET: "", ...provider.settings } });
  const reply = await api.call("GET", ME, { headers: { authorization: `Bearer ${token}` } });
  t.equal(reply.status, 503);
  t.equal(reply.body.error, "temporarily_unavailable");
  t.equal(reply.headers.get("retry-after"), "5");
});

t.test("a user of a just erased client gets 401", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const owner = await tenant.createUser("owner");
  const call = (method: string, path: string, json?: unknown) =>
    api.call(method, path, { headers: owner.headers, json });
  t.equal((await call("GET", "/api/auth/me")).status, 200);
  await deleteClient(api.db, tenant.id);
  for (const [path, json] of [
    ["/api/keys", { name: "k", scopes: ["messages:send"] }],
    ["/api/users", { email: "late@example.com", name: "L", role: "member" }],
  ] as const) {
    const reply = await call("POST", path, json);
    t.equal(reply.status, 401);
    t.match(reply.body.message, /no longer exists/);
  }
});

t.test("a request before the migrations have run gets 503", async (t) => {
  const api = await startApi(t, { settings: { DATABASE_URL: await cloneDatabase(t, "template0") } });
  const json = { email: "ann@example.com", password: "any password" };
  const reply = await api.call("POST", "/api/auth/login", { json });
  t.equal(reply.status, 503);
  t.ok(reply.headers.has("retry-after"));
});

t.test("a provider's token with text Postgres rejects, or signed by a weak key, is refused", async (t) => {
  const provider = await startIdentityProvider(t);
  const api = await startApi(t, { settings: provider.settings });
  const { id: client_id } = await makeTenant(api);
  const key = await provider.addKey("ES256");
  const status = async (token: string) =>
    (await api.call("GET", "/api/auth/me", { headers: { authorization: `Bearer ${token}` } })).status;
  t.equal(await status(await key.sign({ client_id })), 200);
  for (const claims of [{ sub: "a\u0000" }, { name: "a\u0000" }, { email: "\ud800" }])
    t.equal(await status(await key.sign({ client_id, ...claims })), 401, JSON.stringify(claims));
  const weak = provider.publishWeakKey();
  const head = Buffer.from(JSON.stringify({ alg: "RS256", kid: weak })).toString("base64url");
  t.equal(await status(`${head}.${Buffer.from("{}").toString("base64url")}.AAAA`), 401);
});
