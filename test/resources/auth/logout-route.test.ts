import t from "tap";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { startIdentityProvider } from "../../fixtures/tenants/identity-provider.ts";
import { makeTenant, PASSWORD } from "../../fixtures/tenants/tenants.ts";

type Headers = Record<string, string>;

async function signIn(api: Api, email: string): Promise<string> {
  return (await api.call("POST", "/api/auth/login", { json: { email, password: PASSWORD } })).body.token;
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

const logout = (api: Api, headers: Headers) => api.call("POST", "/api/auth/logout", { headers });

const me = async (api: Api, token: string) =>
  (await api.call("GET", "/api/auth/me", { headers: bearer(token) })).status;

t.test("logout", async (t) => {
  const api = await startApi(t);
  const person = await (await makeTenant(api)).createUser("member");

  t.test("ends the session of the token, wherever it is sent, and no other", async (t) => {
    const kept = await signIn(api, person.email);
    for (const headersOf of [bearer, (token: string) => ({ cookie: `herald_console=${token}` })]) {
      const token = await signIn(api, person.email);
      t.equal(await me(api, token), 200);
      const reply = await logout(api, headersOf(token));
      t.equal(reply.status, 204);
      t.match(reply.headers.get("set-cookie"), /^herald_console=; .*Max-Age=0/);
      t.equal(await me(api, token), 401, "the token is refused at once");
      t.equal((await logout(api, headersOf(token))).status, 204, "a second logout changes nothing");
    }
    t.equal(await me(api, kept), 200);
  });

  t.test("ignores the cookie in a request from another site", async (t) => {
    const token = await signIn(api, person.email);
    const cookie = { cookie: `herald_console=${token}` };
    for (const site of ["cross-site", "same-site"]) {
      const reply = await logout(api, { ...cookie, "sec-fetch-site": site });
      t.equal(reply.status, 204);
      t.equal(reply.headers.get("set-cookie"), null);
    }
    t.equal(await me(api, token), 200);
    await logout(api, { ...cookie, "sec-fetch-site": "same-origin" });
    t.equal(await me(api, token), 401);
  });

  t.test("succeeds without a valid token", async (t) => {
    for (const headers of [
      {},
      bearer("x"),
      bearer(""),
      bearer(person.token.slice(0, -4)),
      { authorization: "Basic x" },
      { cookie: "herald_console=x" },
    ])
      t.equal((await logout(api, headers)).status, 204, JSON.stringify(headers));
  });

  t.test("leaves a token without a session valid until it expires", async (t) => {
    t.equal((await logout(api, person.headers)).status, 204);
    t.equal(await me(api, person.token), 200);
  });
});

t.test(
  "logout succeeds with an identity provider's token, also while the provider is unavailable",
  async (t) => {
    const provider = await startIdentityProvider(t);
    const token = await (await provider.addKey("ES256")).sign();
    provider.fail();
    const api = await startApi(t, { settings: provider.settings });
    t.equal((await logout(api, bearer(token))).status, 204);
  },
);
