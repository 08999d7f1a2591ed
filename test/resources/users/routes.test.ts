import { randomBytes } from "node:crypto";
import t from "tap";
import { ROLES } from "../../../src/schema/enumerations.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { readPages } from "../../fixtures/http/list-pages.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { makeTenant, PASSWORD, type SignedInUser } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const ABSENT = "usr_01k9zv3m5q8x7w2r4t6y0a1b2c";
const someEmail = () => `${randomBytes(6).toString("hex")}@example.com`;

/** API calls a user of the console makes with users. */
const usersOf = (api: Api, { headers }: Pick<SignedInUser, "headers">) => ({
  create: (json: unknown) => api.call("POST", "/api/users", { headers, json }),
  list: (query = "") => api.call("GET", `/api/users${query}`, { headers }),
  update: (id: string, json: unknown) => api.call("PATCH", `/api/users/${id}`, { headers, json }),
  setPassword: (id: string, json: unknown) =>
    api.call("POST", `/api/users/${id}/password`, { headers, json }),
  countAuditEntries: async () =>
    (await api.call("GET", "/api/audit?limit=100", { headers })).body.data.length,
});

const me = (api: Api, { headers }: Pick<SignedInUser, "headers">) =>
  api.call("GET", "/api/auth/me", { headers });

const login = (api: Api, email: string, password: string) =>
  api.call("POST", "/api/auth/login", { json: { email, password } });

/** A changed user is read again after a moment. */
const CREDENTIAL_TTL_MS = 100;

t.test("users", async (t) => {
  const api = await startApi(t, {
    credentialTtlMs: CREDENTIAL_TTL_MS,
  });

  t.test("a new user signs in with the generated password, which is shown once", async (t) => {
    const tenant = await makeTenant(api);
    const users = usersOf(api, await tenant.createUser("owner"));
    const email = someEmail();
    const created = await users.create({ email, name: "Ann", role: "member" });
    t.equal(created.status, 201);
    const { password, ...dto } = created.body;
    t.match(dto, { email, name: "Ann", role: "member", enabled: true, last_login_at: null });
    const session = await login(api, email, password);
    t.match(session.body.user, { id: dto.id, client_id: tenant.id, role: "member" });
    const listed = await users.list();
    t.ok(listed.body.data.find(({ id }: { id: string }) => id === dto.id).last_login_at);
    t.notMatch(listed.text, password);
    t.notMatch(listed.text, /hash|scrypt/);
  });

  t.test("a given password works and is not returned", async (t) => {
    const users = usersOf(api, await (await makeTenant(api)).createUser("admin"));
    const email = someEmail();
    const created = await users.create({ email, name: "Ann", role: "viewer", password: "Ann's very own" });
    t.notMatch(created.text, "very own");
    t.equal((await login(api, email, "Ann's very own")).status, 200);
  });

  t.test("an email is unique across all clients, ignoring case", async (t) => {
    const [one, other] = [await makeTenant(api), await makeTenant(api)];
    const taken = await one.createUser("member");
    for (const tenant of [one, other]) {
      const users = usersOf(api, await tenant.createUser("owner"));
      for (const email of [taken.email, taken.email.toUpperCase()]) {
        const reply = await users.create({ email, name: "Ann", role: "member" });
        t.equal(reply.status, 400);
        t.match(reply.body, { error: "validation_failed", details: [{ path: "/email" }] });
      }
    }
  });

  const good = () => ({ email: someEmail(), name: "Ann", role: "member" });
  const bad: Record<string, unknown> = {
    "an empty object": {},
    "no name": { ...good(), name: undefined },
    "a name of spaces": { ...good(), name: " " },
    "no email": { ...good(), email: undefined },
    "a malformed email": { ...good(), email: "ann" },
    "an overlong email": { ...good(), email: `${"x".repeat(250)}@example.com` },
    "an unknown role": { ...good(), role: "king" },
    "a short password": { ...good(), password: "1234567" },
    "an overlong password": { ...good(), password: "x".repeat(257) },
    "a password that is null": { ...good(), password: null },
    "U+0000 in the name": { ...good(), name: "a\u0000" },
    "an unpaired surrogate in the password": { ...good(), password: "secrets\ud800" },
    "an unknown field": { ...good(), client_id: "x" },
  };

  t.test("invalid input creates no user", async (t) => {
    const users = usersOf(api, await (await makeTenant(api)).createUser("owner"));
    for (const [what, json] of Object.entries(bad)) {
      const reply = await users.create(json);
      t.equal(reply.status, 400, what);
      t.equal(reply.body.error, "validation_failed", what);
    }
    t.equal((await users.list()).body.data.length, 1);
  });

  t.test("users are paged newest first, forward and backward", async (t) => {
    const tenant = await makeTenant(api);
    const created: string[] = [];
    for (const role of ["owner", ...ROLES] as const) created.unshift((await tenant.createUser(role)).id);
    const users = usersOf(api, await tenant.createUser("admin"));
    const { forward, backward } = await readPages<{ id: string }>(users.list, 2);
    for (const rows of [forward, backward])
      t.same(
        rows.slice(1).map(({ id }) => id),
        created,
      );
    const { after } = (await users.list("?limit=2")).body.paging.cursors;
    const otherUsers = usersOf(api, await (await makeTenant(api)).createUser("owner"));
    t.equal((await otherUsers.list(`?after=${after}`)).status, 400, "another client's cursor");
  });

  t.test("the email of a user cannot be changed", async (t) => {
    const owner = await (await makeTenant(api)).createUser("owner");
    const reply = await usersOf(api, owner).update(owner.id, { email: someEmail() });
    t.match(reply, { status: 400, body: { message: "email cannot be changed after creation" } });
  });

  t.test("only an owner can make a user an owner", async (t) => {
    const tenant = await makeTenant(api);
    const [owner, admin, member] = [
      await tenant.createUser("owner"),
      await tenant.createUser("admin"),
      await tenant.createUser("member"),
    ];
    const [byOwner, byAdmin] = [usersOf(api, owner), usersOf(api, admin)];
    const refused = await byAdmin.create({ ...good(), role: "owner" });
    t.equal(refused.status, 403);
    t.equal(refused.body.error, "role_insufficient");
    t.equal((await byAdmin.update(member.id, { role: "owner" })).body.error, "role_insufficient");
    t.equal((await byAdmin.update(admin.id, { role: "owner" })).body.error, "role_insufficient");
    t.equal((await byOwner.create({ ...good(), role: "owner" })).status, 201);
    t.equal((await byOwner.update(member.id, { role: "owner" })).body.role, "owner");
  });

  t.test("an admin cannot change an owner, not even the name", async (t) => {
    const tenant = await makeTenant(api);
    const owner = await tenant.createUser("owner");
    await tenant.createUser("owner");
    const users = usersOf(api, await tenant.createUser("admin"));
    const changes = [{ role: "member" }, { enabled: false }, { name: "Bob" }, { name: "Bob", role: "owner" }];
    for (const change of changes)
      t.equal((await users.update(owner.id, change)).body.error, "role_insufficient", JSON.stringify(change));
    const unchanged = await users.update(owner.id, { role: "owner", enabled: true });
    t.match(unchanged, { status: 200, body: { name: "A test's owner", role: "owner", enabled: true } });
    t.equal((await usersOf(api, owner).update(owner.id, { name: "Bob" })).body.name, "Bob");
  });

  t.test("the last enabled owner cannot be demoted or disabled", async (t) => {
    const tenant = await makeTenant(api);
    const [owner, other] = [await tenant.createUser("owner"), await tenant.createUser("owner")];
    const users = usersOf(api, owner);
    t.equal((await users.update(other.id, { enabled: false })).status, 200);
    for (const change of [{ role: "admin" }, { enabled: false }]) {
      const reply = await users.update(owner.id, change);
      t.equal(reply.status, 409);
      t.equal(reply.body.error, "invalid_state_transition");
    }
    t.equal((await users.update(other.id, { enabled: true })).status, 200);
    t.equal((await users.update(owner.id, { role: "member" })).status, 200);
  });

  t.test("only one of two owners who demote each other concurrently succeeds", async (t) => {
    const tenant = await makeTenant(api);
    const [one, other] = [await tenant.createUser("owner"), await tenant.createUser("owner")];
    const holder = await connectRawClient(t, api.config.DATABASE_URL);
    await holder.query("begin");
    await holder.query("select 1 from users where client_id = $1 for update", [tenant.id]);
    const replies = [
      usersOf(api, one).update(other.id, { role: "member" }),
      usersOf(api, other).update(one.id, { role: "member" }),
    ];
    await untilBlocked(holder, 2);
    await holder.query("commit");
    t.same((await Promise.all(replies)).map(({ status }) => status).sort(), [200, 409]);
    const owners = "select id from users where client_id = $1 and role = 'owner'";
    t.equal((await api.db.query(owners, [tenant.id])).length, 1);
  });

  t.test("concurrent changes of different fields are both kept", async (t) => {
    const tenant = await makeTenant(api);
    const [admin, member] = [await tenant.createUser("admin"), await tenant.createUser("member")];
    const users = usersOf(api, admin);
    const holder = await connectRawClient(t, api.config.DATABASE_URL);
    await holder.query("begin");
    await holder.query("select 1 from users where id = $1 for update", [member.id]);
    const replies = [users.update(member.id, { name: "Bob" }), users.update(member.id, { role: "viewer" })];
    await untilBlocked(holder, 2);
    await holder.query("commit");
    for (const reply of await Promise.all(replies)) t.equal(reply.status, 200);
    t.match((await users.update(member.id, {})).body, { name: "Bob", role: "viewer" });
  });

  t.test("an update without changes writes nothing, and null counts as absent", async (t) => {
    const tenant = await makeTenant(api);
    const [owner, member] = [await tenant.createUser("owner"), await tenant.createUser("member")];
    const users = usersOf(api, owner);
    const [{ body: before }, auditCount] = [
      await users.update(member.id, {}),
      await users.countAuditEntries(),
    ];
    const version = () => api.db.query("select xmin::text from users where id = $1", [member.id]);
    const row = await version();
    for (const change of [
      {},
      { name: before.name },
      { role: "member", enabled: true },
      { name: null, role: null, enabled: null },
    ]) {
      const reply = await users.update(member.id, change);
      t.equal(reply.status, 200, JSON.stringify(change));
      t.same(reply.body, before, JSON.stringify(change));
    }
    t.equal(await users.countAuditEntries(), auditCount);
    t.same(await version(), row);
    t.match((await users.update(member.id, { name: "Bob", role: null })).body, {
      name: "Bob",
      role: "member",
    });
    for (const change of [{ name: "" }, { role: "king" }, { enabled: "no" }, { email: someEmail() }])
      t.equal((await users.update(member.id, change)).status, 400, JSON.stringify(change));
    t.equal((await users.update(ABSENT, { name: "x" })).status, 404);
    t.equal((await users.update("usr_1", { name: "x" })).status, 400);
  });

  t.test(
    "a disabled user's token is refused at once, and for good when the user is enabled again",
    async (t) => {
      const tenant = await makeTenant(api);
      const [owner, member] = [await tenant.createUser("owner"), await tenant.createUser("member")];
      const users = usersOf(api, owner);
      t.equal((await me(api, member)).status, 200);
      t.equal((await users.update(member.id, { enabled: false })).body.enabled, false);
      t.equal((await me(api, member)).status, 401);
      await users.update(member.id, { enabled: true });
      t.equal((await me(api, member)).status, 401, "a token without a session is not revived either");
      const { token } = (await login(api, member.email, PASSWORD)).body;
      t.equal((await me(api, { headers: { authorization: `Bearer ${token}` } })).status, 200);
    },
  );

  t.test("a changed role takes effect once the cached user is read again", async (t) => {
    const tenant = await makeTenant(api);
    const [owner, admin] = [await tenant.createUser("owner"), await tenant.createUser("admin")];
    t.equal((await me(api, admin)).body.role, "admin");
    await usersOf(api, owner).update(admin.id, { role: "viewer" });
    await until("the new role is in effect", async () => (await me(api, admin)).body.role === "viewer");
    t.equal((await usersOf(api, admin).list()).body.error, "role_insufficient");
  });
});

t.test("passwords", async (t) => {
  const api = await startApi(t, { credentialTtlMs: CREDENTIAL_TTL_MS });
  const password = "another one altogether";

  t.test("a user of any role changes their own password with the old one", async (t) => {
    const tenant = await makeTenant(api);
    for (const role of ["owner", "viewer"] as const) {
      const person = await tenant.createUser(role);
      const users = usersOf(api, person);
      const without = await users.setPassword(person.id, { password });
      t.equal(without.status, 400);
      t.match(without.body.details, [{ path: "/old_password" }]);
      const wrong = await users.setPassword(person.id, { password, old_password: "wrong" });
      t.equal(wrong.status, 400);
      t.match(wrong.body.details, [{ path: "/old_password" }]);
      t.equal((await users.setPassword(person.id, { password, old_password: PASSWORD })).status, 204);
      t.equal((await login(api, person.email, PASSWORD)).status, 401);
      t.equal((await login(api, person.email, password)).status, 200);
    }
  });

  t.test("a password change revokes old tokens; a new login works immediately", async (t) => {
    const person = await (await makeTenant(api)).createUser("member");
    t.equal((await me(api, person)).status, 200);
    await usersOf(api, person).setPassword(person.id, { password, old_password: PASSWORD });
    await until("the token is refused", async () => (await me(api, person)).status === 401);
    const { token } = (await login(api, person.email, password)).body;
    t.equal((await me(api, { headers: { authorization: `Bearer ${token}` } })).status, 200);
  });

  t.test("a token issued in the same second before the change is refused", async (t) => {
    const person = await (await makeTenant(api)).createUser("member");
    const { token } = (await login(api, person.email, PASSWORD)).body;
    // Simulates a password change right after the login, possibly in the same second.
    const change = `update users
      set tokens_valid_from = (select max(created_at) from sessions where user_id = $1) + interval '1 millisecond'
      where id = $1`;
    await api.db.query(change, [person.id]);
    t.equal((await me(api, { headers: { authorization: `Bearer ${token}` } })).status, 401);
  });

  t.test("a concurrent change with the old password does not overwrite an owner's reset", async (t) => {
    // The change with the old password has passed its check and is blocked before its write.
    let [resume, isHeld] = [() => {}, false];
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const { database } = watchStatements(async (text) => {
      if (isHeld || !text.includes("set password_hash")) return;
      isHeld = true;
      await resumed;
    });
    const slowApi = await startApi(t, { config: api.config, database });
    const tenant = await makeTenant(api);
    const [owner, member] = [await tenant.createUser("owner"), await tenant.createUser("member")];
    const pendingChange = usersOf(slowApi, member).setPassword(member.id, {
      password,
      old_password: PASSWORD,
    });
    await until("the change is blocked", () => isHeld);
    t.equal((await usersOf(api, owner).setPassword(member.id, { password: "set by the owner" })).status, 204);
    resume();
    const refused = await pendingChange;
    t.equal(refused.status, 400);
    t.match(refused.body.details, [{ path: "/old_password" }]);
    t.equal((await login(api, member.email, "set by the owner")).status, 200);
    t.equal((await login(api, member.email, password)).status, 401);
  });

  t.test("only an owner sets another user's password, without the old one", async (t) => {
    const tenant = await makeTenant(api);
    const [owner, admin, member] = [
      await tenant.createUser("owner"),
      await tenant.createUser("admin"),
      await tenant.createUser("member"),
    ];
    const refused = await usersOf(api, admin).setPassword(member.id, { password, old_password: PASSWORD });
    t.equal(refused.status, 403);
    t.equal(refused.body.error, "role_insufficient");
    t.equal((await login(api, member.email, PASSWORD)).status, 200);
    t.equal((await usersOf(api, owner).setPassword(member.id, { password })).status, 204);
    t.equal((await login(api, member.email, password)).status, 200);
    t.equal((await usersOf(api, owner).setPassword(ABSENT, { password })).status, 404);
  });

  t.test("invalid input changes no password", async (t) => {
    const person = await (await makeTenant(api)).createUser("owner");
    const users = usersOf(api, person);
    for (const json of [
      {},
      { old_password: PASSWORD },
      { password: "1234567", old_password: PASSWORD },
      { password: "x".repeat(257), old_password: PASSWORD },
      { password: "secrets\u0000", old_password: PASSWORD },
      { password, old_password: 7 },
      { password, old_password: PASSWORD, logout: true },
    ])
      t.equal((await users.setPassword(person.id, json)).status, 400, JSON.stringify(json));
    t.equal((await login(api, person.email, PASSWORD)).status, 200);
  });

  t.test("wrong old passwords count together with failed logins", async (t) => {
    const person = await (await makeTenant(api)).createUser("member");
    const users = usersOf(api, person);
    const wrong = { password, old_password: "wrong" };
    const tries = [
      ...Array.from({ length: 5 }, () => users.setPassword(person.id, wrong)),
      ...Array.from({ length: 5 }, () => login(api, person.email, "wrong")),
    ];
    t.same(
      (await Promise.all(tries)).map(({ status }) => status),
      [400, 400, 400, 400, 400, 401, 401, 401, 401, 401],
    );
    const eleventh = await users.setPassword(person.id, { password, old_password: PASSWORD });
    t.equal(eleventh.status, 429);
    t.ok(eleventh.headers.has("retry-after"));
    t.equal((await login(api, person.email, PASSWORD)).status, 429);
  });
});
