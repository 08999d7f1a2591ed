import t from "tap";
import { deleteClient } from "../../../src/domain/tenants/delete-client.ts";
import { HOUR, SECOND } from "../../../src/runtime/durations.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { createUserTokens } from "../../../src/security/user-tokens.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { readPages } from "../../fixtures/http/list-pages.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { startIdentityProvider } from "../../fixtures/tenants/identity-provider.ts";
import { makeTenant, PASSWORD } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const SESSIONS = "/api/auth/sessions";

type Headers = Record<string, string>;

/** Signs in and returns the headers of the session's token. */
async function signIn(api: Api, email: string, headers: Headers = {}, password = PASSWORD): Promise<Headers> {
  const reply = await api.call("POST", "/api/auth/login", { json: { email, password }, headers });
  return { authorization: `Bearer ${reply.body.token}` };
}

const me = async (api: Api, headers: Headers) => (await api.call("GET", "/api/auth/me", { headers })).status;

const list = async (api: Api, headers: Headers) => (await api.call("GET", SESSIONS, { headers })).body.data;

const idOf = async (api: Api, headers: Headers): Promise<string> =>
  (await list(api, headers)).find(({ current }: { current: boolean }) => current).id;

const end = (api: Api, headers: Headers, id: string) => api.call("DELETE", `${SESSIONS}/${id}`, { headers });

const untilRefused = (api: Api, headers: Headers) =>
  until("the token is refused", async () => (await me(api, headers)) === 401);

t.test("sessions", async (t) => {
  // This process must forget a changed session itself, and another one reads it again after a moment.
  const api = await startApi(t, { settings: { TRUST_PROXY: "1" }, credentialTtlMs: 1 * HOUR });
  const other = await startApi(t, { config: api.config, credentialTtlMs: 100 });

  t.test("a sign-in starts a session, which its user sees", async (t) => {
    const person = await (await makeTenant(api)).createUser("viewer");
    const startedAt = Date.now();
    const from = { "x-forwarded-for": "192.0.2.7", "user-agent": `Browser ${"x".repeat(600)}` };
    const first = await signIn(api, person.email, from);
    const second = await signIn(api, person.email, { "x-forwarded-for": "2001:db8::1", "user-agent": "B" });
    const [newer, older, ...rest] = await list(api, first);
    t.same(rest, []);
    t.match(newer, { id: /^ses_[0-9a-z]{26}$/, address: "2001:db8::1", user_agent: "B", current: false });
    t.match(older, { id: /^ses_/, address: "192.0.2.7", current: true });
    t.equal(older.user_agent, from["user-agent"].slice(0, 512));
    const [created, used, expires] = [older.created_at, older.last_used_at, older.expires_at].map(Date.parse);
    t.ok(Math.abs((created as number) - startedAt) < 60 * SECOND);
    t.equal(used, created);
    t.ok(Math.abs((expires as number) - (created as number) - 12 * HOUR) < 60 * SECOND);
    t.equal((await list(api, second))[0].current, true);
    t.ok((await list(api, person.headers)).every((session: { current: boolean }) => !session.current));
  });

  t.test("a token names its session in the claim sid", async (t) => {
    const person = await (await makeTenant(api)).createUser("member");
    const headers = await signIn(api, person.email);
    const [, claims = ""] = (headers.authorization as string).split(".");
    const { sid } = JSON.parse(Buffer.from(claims, "base64url").toString());
    t.equal(sid, await idOf(api, headers));
  });

  t.test("sessions are paged newest first, forward and backward", async (t) => {
    const person = await (await makeTenant(api)).createUser("member");
    for (let count = 0; count < 5; count++) await signIn(api, person.email);
    const all = await list(api, person.headers);
    t.equal(all.length, 5);
    const read = (query: string) => api.call("GET", SESSIONS + query, { headers: person.headers });
    t.same(await readPages(read, 2), { forward: all, backward: all });
    for (const query of ["?limit=0", "?limit=101", "?after=x", "?user_id=x"])
      t.equal((await read(query)).status, 400, query);
  });

  t.test("an ended session is refused at once here and after a moment in another process", async (t) => {
    const person = await (await makeTenant(api)).createUser("member");
    const [kept, ended] = [await signIn(api, person.email), await signIn(api, person.email)];
    for (const one of [api, other]) t.equal(await me(one, ended), 200);
    const id = await idOf(api, ended);
    t.equal((await end(api, kept, id)).status, 204);
    t.equal(await me(api, ended), 401);
    await untilRefused(other, ended);
    t.equal(await me(api, kept), 200);
    t.same((await list(api, kept)).length, 1);
    t.equal((await end(api, kept, id)).status, 404, "an ended session is not found");
    t.equal((await end(api, kept, await idOf(api, kept))).status, 204, "a user may end the current session");
    t.equal(await me(api, kept), 401);
  });

  t.test("a user ends no session of another user, in the own client or in another", async (t) => {
    const [tenant, other] = [await makeTenant(api), await makeTenant(api)];
    const person = await tenant.createUser("member");
    const headers = await signIn(api, person.email);
    const id = await idOf(api, headers);
    for (const by of [await tenant.createUser("owner"), await other.createUser("owner")]) {
      const reply = await end(api, by.headers, id);
      t.equal(reply.status, 404);
      t.equal(reply.body.error, "not_found");
      t.same(await list(api, by.headers), []);
    }
    t.equal(await me(api, headers), 200);
    t.equal((await end(api, headers, newId("ses"))).status, 404);
    for (const bad of ["x", "usr_01k9zv3m5q8x7w2r4t6y0a1b2c", "ses_1", "ses_%00"])
      t.equal((await end(api, headers, bad)).status, 400, bad);
  });

  t.test("an expired session is neither listed nor found", async (t) => {
    const person = await (await makeTenant(api)).createUser("member");
    const id = await idOf(api, await signIn(api, person.email));
    await api.db.query("update sessions set expires_at = now() where id = $1", [id]);
    t.same(await list(api, person.headers), []);
    t.equal((await end(api, person.headers, id)).status, 404);
  });

  t.test("an API key gets 403 and a user of an identity provider 404", async (t) => {
    const provider = await startIdentityProvider(t);
    const key = await provider.addKey("ES256");
    const both = await startApi(t, { settings: provider.settings });
    const tenant = await makeTenant(both);
    const token = await key.sign({ client_id: tenant.id, role: "owner" });
    const cases: [Headers, number, string][] = [
      [(await tenant.createKey("messages:send")).headers, 403, "console_only"],
      [{ authorization: `Bearer ${token}` }, 404, "not_found"],
    ];
    for (const [headers, status, error] of cases)
      for (const [method, path] of [
        ["GET", SESSIONS],
        ["DELETE", `${SESSIONS}/${newId("ses")}`],
      ] as const) {
        const reply = await both.call(method, path, { headers });
        t.match(reply, { status, body: { error } }, `${method} ${error}`);
      }
  });

  t.test("a token whose session belongs to another user, is unknown or malformed is refused", async (t) => {
    const tenant = await makeTenant(api);
    const [one, two] = [await tenant.createUser("member"), await tenant.createUser("member")];
    const sid = await idOf(api, await signIn(api, one.email));
    const { issue } = createUserTokens(api.config);
    for (const sessionId of [sid, newId("ses"), "", "ses_x", "x'; --"]) {
      const token = await issue?.({ id: two.id, clientId: tenant.id }, { sessionId });
      t.equal(await me(api, { authorization: `Bearer ${token}` }), 401, sessionId);
    }
  });

  t.test("disabling a user ends the sessions for good", async (t) => {
    const tenant = await makeTenant(api);
    const [owner, person] = [await tenant.createUser("owner"), await tenant.createUser("member")];
    const headers = await signIn(api, person.email);
    for (const one of [api, other]) t.equal(await me(one, headers), 200);
    const update = (json: unknown) =>
      api.call("PATCH", `/api/users/${person.id}`, { headers: owner.headers, json });
    await update({ enabled: false });
    t.equal(await me(api, headers), 401);
    await untilRefused(other, headers);
    await update({ enabled: true });
    for (const token of [headers, person.headers]) t.equal(await me(api, token), 401);
    const fresh = await signIn(api, person.email);
    t.equal((await list(api, fresh)).length, 1, "the old session stays ended");
  });

  t.test("a changed password ends the sessions, the caller's own too", async (t) => {
    const person = await (await makeTenant(api)).createUser("member");
    const sessions = [await signIn(api, person.email), await signIn(api, person.email)];
    for (const headers of sessions) t.equal(await me(api, headers), 200);
    const json = { password: "another one altogether", old_password: PASSWORD };
    const path = `/api/users/${person.id}/password`;
    t.equal((await api.call("POST", path, { headers: sessions[0] as Headers, json })).status, 204);
    for (const headers of sessions) t.equal(await me(api, headers), 401);
    const fresh = await signIn(api, person.email, {}, json.password);
    t.equal((await list(api, fresh)).length, 1);
  });

  t.test("last_used_at is written at most once a minute", async (t) => {
    const person = await (await makeTenant(api)).createUser("member");
    const headers = await signIn(api, person.email);
    const id = await idOf(api, headers);
    const backdate = (seconds: number) =>
      api.db.query("update sessions set last_used_at = now() - $2 * interval '1 second' where id = $1", [
        id,
        seconds,
      ]);
    /** Counts the writes of a process that has not cached the session. */
    const countWrites = async () => {
      const { statements, database } = watchStatements();
      const fresh = await startApi(t, { config: api.config, database });
      for (let count = 0; count < 3; count++) t.equal(await me(fresh, headers), 200);
      return statements.filter((text) => text.includes("update sessions")).length;
    };
    await backdate(0);
    t.equal(await countWrites(), 0);
    await backdate(120);
    t.equal(await countWrites(), 1);
    await until("the use is recorded", async () => {
      const [session] = await list(api, headers);
      return Date.now() - Date.parse(session.last_used_at) < 60 * SECOND;
    });
  });

  t.test("a failed update of last_used_at does not fail the request", async (t) => {
    const person = await (await makeTenant(api)).createUser("member");
    const headers = await signIn(api, person.email);
    await api.db.query("update sessions set last_used_at = now() - interval '1 hour' where user_id = $1", [
      person.id,
    ]);
    const { database } = watchStatements(async (text) => {
      if (text.includes("set last_used_at")) throw new Error("disk full");
    });
    const failing = await startApi(t, { config: api.config, database });
    t.equal(await me(failing, headers), 200);
    await until("the failure is logged", () =>
      failing.lines.find(({ event }) => event === "session.last_used_update_failed"),
    );
  });

  t.test("erasing a client erases its sessions", async (t) => {
    const tenant = await makeTenant(api);
    const person = await tenant.createUser("member");
    const headers = await signIn(api, person.email);
    t.equal(await me(other, headers), 200);
    await deleteClient(api.db, tenant.id);
    t.same(await api.db.query("select id from sessions where user_id = $1", [person.id]), []);
    await untilRefused(other, headers);
  });
});
