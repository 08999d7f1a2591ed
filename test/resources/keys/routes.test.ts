import t, { type Test } from "tap";
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { readPages } from "../../fixtures/http/list-pages.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { startIdentityProvider } from "../../fixtures/tenants/identity-provider.ts";
import { makeTenant, type SignedInUser } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const ABSENT = "key_01k9zv3m5q8x7w2r4t6y0a1b2c";
const isoFromNow = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();

/** API calls an owner makes with keys. */
const keysOf = (api: Api, { headers }: Pick<SignedInUser, "headers">) => ({
  create: (json: unknown) => api.call("POST", "/api/keys", { headers, json }),
  list: (query = "") => api.call("GET", `/api/keys${query}`, { headers }),
  revoke: (id: string) => api.call("DELETE", `/api/keys/${id}`, { headers }),
  rotate: (id: string, json: unknown) => api.call("POST", `/api/keys/${id}/rotate`, { headers, json }),
});

const callWithKey = (api: Api, key: string) =>
  api.call("GET", "/api/auth/me", { headers: { "x-svc-api-key": key } });

/** Moves the clock of this process forward until the test ends. */
function advanceClock(t: Test, milliseconds: number): void {
  const now = Date.now;
  t.intercept(Date, "now", { value: () => now.call(Date) + milliseconds });
}

t.test("API keys", async (t) => {
  // This process must forget a changed key itself.
  const api = await startApi(t, { credentialTtlMs: 1 * HOUR });
  const newOwnerKeys = async () => keysOf(api, await (await makeTenant(api)).createUser("owner"));

  t.test("a new key works, and its text is shown once", async (t) => {
    const keys = await newOwnerKeys();
    const expires_at = isoFromNow(DAY);
    const created = await keys.create({ name: "Shop", scopes: ["messages:send"], expires_at });
    t.equal(created.status, 201);
    const { key, ...dto } = created.body;
    t.match(key, /^svc_test_[0-9a-hjkmnp-tv-z]{26}_[0-9A-Za-z]{43}$/);
    t.match(dto, {
      name: "Shop",
      scopes: ["messages:send"],
      expires_at,
      last_used_at: null,
      replaced_by: null,
      revoked_at: null,
    });
    t.equal(dto.prefix, `svc_test_${dto.id.slice(4, 10)}`);
    t.equal(dto.last4, key.slice(-4));
    t.match((await callWithKey(api, key)).body, {
      credential: { id: dto.id, name: "Shop" },
      scopes: ["messages:send"],
    });
    const listed = await keys.list();
    t.match(listed.body.data, [{ id: dto.id, name: "Shop", expires_at }]);
    t.notMatch(listed.text, key.slice(-43));
    t.notMatch(listed.text, key.slice(0, 35));
  });

  t.test("a name of 64,000 characters and a control character is refused in linear time", async (t) => {
    const keys = await newOwnerKeys();
    const name = `${"x".repeat(64_000)}\u0001`;
    const startedAt = Date.now();
    for (const _ of Array(5)) {
      const reply = await keys.create({ name, scopes: ["messages:send"] });
      t.equal(reply.status, 400);
      t.match(reply.body.details, [{ path: "/name", message: /^name must have 1 to 200 characters/ }]);
    }
    t.ok(Date.now() - startedAt < 10 * SECOND, "quadratic time would be 20 s");
  });

  t.test("a key names the user who created or rotated it, and whether that user is enabled", async (t) => {
    const tenant = await makeTenant(api);
    const [owner, admin] = [await tenant.createUser("owner"), await tenant.createUser("admin")];
    const { id: byCommand } = await tenant.createKey("messages:send");
    const made = (await keysOf(api, admin).create({ name: "k", scopes: ["messages:send"] })).body;
    const creator = { user_id: admin.id, name: "A test's admin", enabled: true };
    t.same(made.created_by, creator);
    const rotated = (await keysOf(api, owner).rotate(made.id, {})).body;
    t.match(rotated.created_by, { user_id: owner.id });
    const json = { name: "Bob", enabled: false };
    await api.call("PATCH", `/api/users/${admin.id}`, { headers: owner.headers, json });
    const listed = (await keysOf(api, owner).list()).body.data;
    t.match(listed, [
      { id: rotated.id, created_by: { user_id: owner.id, enabled: true } },
      { id: made.id, created_by: { user_id: admin.id, name: "Bob", enabled: false } },
      { id: byCommand, created_by: null },
    ]);
  });

  t.test("a key of an identity provider's user has the name at its creation", async (t) => {
    const provider = await startIdentityProvider(t);
    const both = await startApi(t, { settings: provider.settings });
    const { id: client_id } = await makeTenant(both);
    const token = await (await provider.addKey("ES256")).sign({ client_id, role: "owner", name: "Ann" });
    const keys = keysOf(both, { headers: { authorization: `Bearer ${token}` } });
    await keys.create({ name: "k", scopes: ["messages:send"] });
    const [{ created_by }] = (await keys.list()).body.data;
    t.same(created_by, { user_id: "ann", name: "Ann", enabled: null });
  });

  t.test("an admin can manage keys", async (t) => {
    const keys = keysOf(api, await (await makeTenant(api)).createUser("admin"));
    const { body } = await keys.create({ name: "k", scopes: ["messages:send"] });
    t.equal((await keys.rotate(body.id, { grace_minutes: 1 })).status, 201);
    t.equal((await keys.revoke(body.id)).status, 204);
  });

  const good = { name: "k", scopes: ["messages:send"] };
  const bad: Record<string, unknown> = {
    "an empty object": {},
    "no name": { scopes: good.scopes },
    "an empty name": { ...good, name: "" },
    "a name of spaces": { ...good, name: "  " },
    "an overlong name": { ...good, name: "x".repeat(201) },
    "a name that is not a string": { ...good, name: 7 },
    "a name with U+0000": { ...good, name: "a\u0000b" },
    "a name with an unpaired surrogate": { ...good, name: "a\ud800" },
    "no scopes": { name: "k" },
    "empty scopes": { ...good, scopes: [] },
    "an unknown scope": { ...good, scopes: ["messages:send", "everything"] },
    "a duplicate scope": { ...good, scopes: ["messages:send", "messages:send"] },
    "scopes that are a string": { ...good, scopes: "messages:send" },
    "an expiry in the past": { ...good, expires_at: isoFromNow(-1 * SECOND) },
    "an expiry that is not a time": { ...good, expires_at: "tomorrow" },
    "an expiry that is a number": { ...good, expires_at: Date.now() + DAY },
    "an expiry that is null": { ...good, expires_at: null },
    "a day that does not exist": { ...good, expires_at: "2099-02-30T00:00:00Z" },
    "a year with five digits": { ...good, expires_at: "9999-12-31T23:59:59-23:59" },
    "a leap second": { ...good, expires_at: "2099-12-31T23:59:60Z" },
    "an unknown field": { ...good, admin: true },
  };

  t.test("invalid input creates no key", async (t) => {
    const keys = await newOwnerKeys();
    for (const [what, json] of Object.entries(bad)) {
      const reply = await keys.create(json);
      t.equal(reply.status, 400, what);
      t.equal(reply.body.error, "validation_failed", what);
    }
    t.same((await keys.list()).body.data, []);
  });

  t.test("a key is refused once it has expired", async (t) => {
    const keys = await newOwnerKeys();
    const { body } = await keys.create({ ...good, expires_at: isoFromNow(1 * HOUR) });
    t.equal((await callWithKey(api, body.key)).status, 200);
    await t.test("after its expiry", async (t) => {
      advanceClock(t, 1 * HOUR);
      t.equal((await callWithKey(api, body.key)).status, 401, "although it is cached");
    });
    await api.db.query("update api_keys set expires_at = now() where id = $1", [body.id]);
    t.equal((await keys.rotate(body.id, {})).body.error, "invalid_state_transition");
  });

  t.test("keys are paged newest first, forward and backward", async (t) => {
    const keys = await newOwnerKeys();
    const created: string[] = [];
    for (const name of ["1", "2", "3", "4", "5"])
      created.unshift((await keys.create({ ...good, name })).body.id);
    const { forward, backward } = await readPages<{ id: string }>(keys.list, 2);
    t.same(
      forward.map(({ id }) => id),
      created,
    );
    t.same(
      backward.map(({ id }) => id),
      created,
    );
    const { after } = (await keys.list("?limit=2")).body.paging.cursors;
    t.equal((await (await newOwnerKeys()).list(`?after=${after}`)).status, 400, "another client's cursor");
    for (const query of ["?limit=0", "?limit=101", "?after=x", "?revoked=true"])
      t.equal((await keys.list(query)).status, 400, query);
  });

  t.test(
    "a revoked key is refused at once, after a moment in another process, and stays in the list",
    async (t) => {
      const keys = await newOwnerKeys();
      const { id, key } = (await keys.create(good)).body;
      const other = await startApi(t, { config: api.config, credentialTtlMs: 100 });
      for (const one of [api, other]) t.equal((await callWithKey(one, key)).status, 200);
      t.equal((await keys.revoke(id)).status, 204);
      t.equal((await callWithKey(api, key)).status, 401);
      await until("the key is refused", async () => (await callWithKey(other, key)).status === 401);
      const [{ revoked_at }] = (await keys.list()).body.data;
      t.ok(Date.parse(revoked_at) <= Date.now());
      t.equal((await keys.revoke(id)).status, 204, "a second revocation has no effect");
      t.equal((await keys.list()).body.data[0].revoked_at, revoked_at);
    },
  );

  t.test("a rotated key without a grace period is refused at once", async (t) => {
    const keys = await newOwnerKeys();
    for (const json of [{ grace_minutes: 0 }, {}]) {
      const old = (await keys.create({ name: "Shop", scopes: ["marketing:read"] })).body;
      t.equal((await callWithKey(api, old.key)).status, 200);
      const rotated = await keys.rotate(old.id, json);
      t.equal(rotated.status, 201);
      t.match(rotated.body, { name: "Shop", scopes: ["marketing:read"], expires_at: null });
      t.not(rotated.body.id, old.id);
      t.match((await callWithKey(api, rotated.body.key)).body, { scopes: ["marketing:read"] });
      t.equal((await callWithKey(api, old.key)).status, 401);
    }
  });

  t.test("both keys work during the grace period, and the old one gets an expiry", async (t) => {
    const keys = await newOwnerKeys();
    const old = (await keys.create(good)).body;
    const fresh = (await keys.rotate(old.id, { grace_minutes: 60 })).body;
    for (const { key } of [old, fresh]) t.equal((await callWithKey(api, key)).status, 200);
    const listed = (await keys.list()).body.data;
    t.equal(listed[0].expires_at, null);
    const remainingMs = Date.parse(listed[1].expires_at) - Date.now();
    t.ok(remainingMs > 59 * MINUTE && remainingMs <= 60 * MINUTE);
    t.notMatch(JSON.stringify(listed), fresh.key.slice(-43));
  });

  t.test("a rotation never extends a key's lifetime", async (t) => {
    const keys = await newOwnerKeys();
    const expires_at = isoFromNow(10 * MINUTE);
    const old = (await keys.create({ ...good, expires_at })).body;
    t.equal((await keys.rotate(old.id, { grace_minutes: 60 })).body.expires_at, expires_at);
    for (const key of (await keys.list()).body.data) t.equal(key.expires_at, expires_at);
  });

  t.test("a replaced key cannot be rotated again, but its successor can", async (t) => {
    const keys = await newOwnerKeys();
    const old = (await keys.create(good)).body;
    const fresh = (await keys.rotate(old.id, { grace_minutes: 5 })).body;
    const again = await keys.rotate(old.id, { grace_minutes: 5 });
    t.equal(again.status, 409);
    t.match(again.body, { error: "invalid_state_transition", message: new RegExp(fresh.id) });
    const successor = await keys.rotate(fresh.id, { grace_minutes: 5 });
    t.match(successor, { status: 201, body: { expires_at: null } });
    t.equal((await keys.list()).body.data.length, 3);
  });

  t.test("a revoked key cannot be rotated, and an unknown key is not found", async (t) => {
    const keys = await newOwnerKeys();
    const { id } = (await keys.create(good)).body;
    for (const json of [
      { grace_minutes: -1 },
      { grace_minutes: 10_081 },
      { grace_minutes: 1.5 },
      { grace_minutes: "1" },
      { grace_minutes: null },
      { grace: 1 },
    ])
      t.equal((await keys.rotate(id, json)).status, 400, JSON.stringify(json));
    await keys.revoke(id);
    const again = await keys.rotate(id, { grace_minutes: 1 });
    t.equal(again.status, 409);
    t.equal(again.body.error, "invalid_state_transition");
    t.equal((await keys.list()).body.data.length, 1);
    for (const [unknown, status] of [
      [ABSENT, 404],
      ["key_1", 400],
      [ABSENT.replace("key_", "usr_"), 400],
    ] as const) {
      t.equal((await keys.rotate(unknown, {})).status, status, unknown);
      t.equal((await keys.revoke(unknown)).status, status, unknown);
    }
  });

  t.test("one of two concurrent rotations without a grace period succeeds", async (t) => {
    const keys = await newOwnerKeys();
    const { id } = (await keys.create(good)).body;
    const replies = await Promise.all([keys.rotate(id, {}), keys.rotate(id, {})]);
    t.same(replies.map(({ status }) => status).sort(), [201, 409]);
  });

  t.test("last_used_at is updated at most once a minute", async (t) => {
    const keys = await newOwnerKeys();
    const { id, key } = (await keys.create(good)).body;
    const lastUsed = async () => (await keys.list()).body.data[0].last_used_at;
    const before = Date.now();
    await callWithKey(api, key);
    const first = await until("the use is recorded", lastUsed);
    t.ok(Date.parse(first) >= before - SECOND && Date.parse(first) <= Date.now() + SECOND);
    const backdateLastUse = (minutes: number) =>
      api.db.query("update api_keys set last_used_at = now() - $2 * interval '1 minute' where id = $1", [
        id,
        minutes,
      ]);
    /** Counts the writes of a process that has not cached the key. */
    const countWritesInNewProcess = async () => {
      const { statements, database } = watchStatements();
      const other = await startApi(t, { config: api.config, database });
      for (let count = 0; count < 3; count++) await callWithKey(other, key);
      return statements.filter((text) => text.includes("update api_keys")).length;
    };
    await backdateLastUse(0);
    t.equal(await countWritesInNewProcess(), 0, "within a minute it is not updated again");
    await backdateLastUse(2);
    const old = await lastUsed();
    t.equal(await countWritesInNewProcess(), 1);
    await until("the use is recorded again", async () => (await lastUsed()) !== old);
  });
});
