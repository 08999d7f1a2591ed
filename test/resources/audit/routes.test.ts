import { randomBytes } from "node:crypto";
import t from "tap";
import { DAY, HOUR, MINUTE } from "../../../src/runtime/durations.ts";
import { firstIdAt } from "../../../src/runtime/ids.ts";
import type { PageRequest } from "../../../src/store/database/paging.ts";
import { type AuditFilters, listAudit } from "../../../src/store/tenants/audit-log.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { readPages } from "../../fixtures/http/list-pages.ts";
import { makeTenant, PASSWORD, type SignedInUser } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

interface Entry {
  id: string;
  action: string;
  target: string | null;
  request_id: string | null;
}

const auditOf =
  (api: Api, { headers }: Pick<SignedInUser, "headers">) =>
  (query = "") =>
    api.call("GET", `/api/audit${query}`, { headers });

const someEmail = () => `${randomBytes(6).toString("hex")}@example.com`;
const NEW_PASSWORD = "another one altogether";

/** Performs one of each audited action and returns the secrets that no entry may contain. */
async function performAuditedActions(api: Api, headers: Record<string, string>) {
  const call = (method: string, path: string, json?: unknown) => api.call(method, path, { headers, json });
  const key = (await call("POST", "/api/keys", { name: "Shop", scopes: ["messages:send"] })).body;
  const fresh = (await call("POST", `/api/keys/${key.id}/rotate`, { grace_minutes: 60 })).body;
  await call("DELETE", `/api/keys/${key.id}`);
  const user = (await call("POST", "/api/users", { email: someEmail(), name: "Ann", role: "member" })).body;
  await call("PATCH", `/api/users/${user.id}`, { role: "viewer", enabled: false });
  await call("POST", `/api/users/${user.id}/password`, { password: NEW_PASSWORD });
  return {
    key,
    fresh,
    user,
    secrets: [key.key.slice(-43), fresh.key.slice(-43), user.password, NEW_PASSWORD, PASSWORD],
  };
}

/** Inserts entries, each a millisecond later than the one before; their ids are made by a clock that is ahead. */
const insertEntries = (
  api: Api,
  clientId: string,
  {
    at,
    aheadMs = 0,
    action = "test.made",
    count = 1,
  }: {
    at: string;
    aheadMs?: number;
    action?: string;
    count?: number;
  },
) =>
  api.db.query(
    `insert into audit_log (client_id, id, at, actor_type, actor_id, actor_name, action, details)
    select $1, $2 || lpad(i::text, 16, '0'), $3::timestamptz + i * interval '1 ms', 'service', 'test', 'A test', $4, '{}'
    from generate_series(0, $5 - 1) i`,
    [clientId, firstIdAt("aud", Date.parse(at) + aheadMs), at, action, count],
  );

/** Counts the entries that Postgres reads for a page, with the plan that fits its values and with the one for any. */
const countReads = (api: Api, clientId: string, search: AuditFilters & { page: PageRequest }) =>
  api.db.transaction(async (tx) => {
    const readCounter = async () => {
      const [row] = await tx.query<{ read: string }>(
        "select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables where relname = 'audit_log'",
      );
      return Number(row?.read);
    };
    const before = await readCounter();
    for (const mode of ["force_custom_plan", "force_generic_plan"]) {
      await tx.query(`set local plan_cache_mode = ${mode}`);
      await listAudit(tx, clientId, search);
    }
    return (await readCounter()) - before;
  });

t.test("audit log", async (t) => {
  const api = await startApi(t, { settings: { TRUST_PROXY: "1" } });

  t.test("each action has one entry with actor, target, address and request id", async (t) => {
    const owner = await (await makeTenant(api)).createUser("owner");
    const headers = {
      ...owner.headers,
      "x-forwarded-for": "203.0.113.99, 192.0.2.7",
      "x-request-id": "my-request",
    };
    const { key, fresh, user } = await performAuditedActions(api, headers);
    const { data } = (await auditOf(api, owner)()).body;
    t.match(data, [
      { action: "user.password_changed", target: user.id, details: {} },
      {
        action: "user.updated",
        target: user.id,
        details: { role: { from: "member", to: "viewer" }, enabled: { from: true, to: false } },
      },
      {
        action: "user.created",
        target: user.id,
        details: { email: user.email, name: "Ann", role: "member" },
      },
      { action: "key.revoked", target: key.id, details: { name: "Shop" } },
      { action: "key.rotated", target: key.id, details: { new_key: fresh.id, grace_minutes: 60 } },
      { action: "key.created", target: key.id, details: { name: "Shop", scopes: ["messages:send"] } },
    ]);
    t.equal(data.length, 6);
    for (const entry of data) {
      t.same(entry.actor, { type: "user", id: owner.id, name: "A test's owner" });
      t.equal(entry.address, "192.0.2.7");
      t.equal(entry.request_id, "my-request");
    }
  });

  t.test("an action without a request id is recorded under the generated one", async (t) => {
    const owner = await (await makeTenant(api)).createUser("owner");
    const json = { name: "Shop", scopes: ["messages:send"] };
    const created = await api.call("POST", "/api/keys", { headers: owner.headers, json });
    const [entry] = (await auditOf(api, owner)()).body.data;
    t.equal(entry.request_id, created.headers.get("x-request-id"));
    t.match(entry.address, /127\.0\.0\.1$/);
  });

  t.test("sign-ins, refused ones of known users, and ended sessions have entries", async (t) => {
    const tenant = await makeTenant(api);
    const [owner, person] = [await tenant.createUser("owner"), await tenant.createUser("member")];
    const from = { "x-forwarded-for": "192.0.2.7", "user-agent": "Browser" };
    const login = (email: string, password: string) =>
      api.call("POST", "/api/auth/login", { headers: from, json: { email, password } });
    await login(person.email, "wrong");
    await login(someEmail(), "wrong");
    const tokens = [];
    for (let count = 0; count < 3; count++) tokens.push((await login(person.email, PASSWORD)).body.token);
    const headersOf = (token: string) => ({ ...from, authorization: `Bearer ${token}` });
    await api.call("POST", "/api/auth/logout", { headers: headersOf(tokens[0]) });
    const mine = await api.call("GET", "/api/auth/sessions", { headers: headersOf(tokens[2]) });
    const [third, second] = mine.body.data;
    await api.call("DELETE", `/api/auth/sessions/${second.id}`, { headers: headersOf(tokens[2]) });
    const disable = { headers: owner.headers, json: { enabled: false } };
    await api.call("PATCH", `/api/users/${person.id}`, disable);
    await login(person.email, PASSWORD);
    const read = async () => (await auditOf(api, owner)()).body.data;
    await until("the refusals are written", async () => (await read()).length === 9);
    const user = { type: "user", id: person.id, name: "A test's member" };
    const byUser = { actor: user, address: "192.0.2.7", request_id: /^req_/ };
    const started = { action: "session.started", ...byUser, details: { user_agent: "Browser" } };
    t.match(await read(), [
      { action: "session.refused", target: person.id, ...byUser },
      {
        action: "session.ended",
        target: third.id,
        actor: { id: owner.id },
        details: { user_id: person.id, reason: "user_disabled" },
      },
      { action: "user.updated" },
      { action: "session.ended", target: second.id, ...byUser },
      { action: "session.ended", target: /^ses_/, ...byUser },
      started,
      started,
      started,
      { action: "session.refused", target: person.id, ...byUser },
    ]);
    const text = JSON.stringify(await read());
    for (const secret of [...tokens, PASSWORD, "wrong"]) t.notMatch(text, secret);
  });

  t.test("the audit log contains no secret", async (t) => {
    const owner = await (await makeTenant(api)).createUser("owner");
    const { secrets } = await performAuditedActions(api, owner.headers);
    const { text } = await auditOf(api, owner)("?limit=100");
    for (const secret of [...secrets, owner.token, "scrypt"]) t.notMatch(text, secret);
  });

  t.test("the audit log is filtered by action and actor", async (t) => {
    const tenant = await makeTenant(api);
    const [owner, admin] = [await tenant.createUser("owner"), await tenant.createUser("admin")];
    await performAuditedActions(api, owner.headers);
    const json = { name: "Admin's", scopes: ["messages:send"] };
    await api.call("POST", "/api/keys", { headers: admin.headers, json });
    const audit = auditOf(api, admin);
    const actions = async (query: string) =>
      (await audit(query)).body.data.map(({ action }: Entry) => action);
    t.same(await actions("?action=key.created"), ["key.created", "key.created"]);
    t.same(await actions(`?actor_id=${admin.id}`), ["key.created"]);
    t.same(await actions(`?actor_id=${owner.id}&action=user.created`), ["user.created"]);
    t.same(await actions(`?actor_id=${admin.id}&action=user.created`), []);
    t.same(await actions("?action=nothing"), []);
    for (const query of [
      "?who=me",
      `?action=${"x".repeat(101)}`,
      "?action=a&action=b",
      "?action=%00",
      "?limit=0",
    ])
      t.equal((await audit(query)).status, 400, query);
  });

  t.test("a period has exactly the entries made in it, whatever the clock of their ids", async (t) => {
    const [tenant, other] = [await makeTenant(api), await makeTenant(api)];
    const owner = await tenant.createUser("owner");
    for (const [action, at, aheadMs] of [
      ["before", "2026-06-01T11:59:59.999999Z", 0],
      ["first", "2026-06-01T12:00:00.000Z", 0],
      ["slow clock", "2026-06-01T12:00:00.001Z", -50 * MINUTE],
      ["fast clock", "2026-06-01T12:30:00.000Z", 50 * MINUTE],
      ["last", "2026-06-01T13:00:00.000999Z", 0],
      ["after", "2026-06-01T13:00:00.001Z", 0],
    ] as const)
      await insertEntries(api, tenant.id, { action, at, aheadMs });
    await insertEntries(api, other.id, { at: "2026-06-01T12:30:00Z" });
    const audit = auditOf(api, owner);
    const actions = async (query: string) =>
      (await audit(query)).body.data.map(({ action }: Entry) => action).sort();
    const [since, until] = ["since=2026-06-01T12:00:00Z", "until=2026-06-01T15:00:00%2B02:00"];
    const inside = ["fast clock", "first", "last", "slow clock"];
    t.same(await actions(`?${since}&${until}`), inside);
    t.same(await actions(`?${since}`), ["after", ...inside]);
    t.same(await actions(`?${until}`), ["before", ...inside]);
    t.same(await actions(`?${since}&${until}&action=first`), ["first"]);
    t.same(await actions(`?${since}&until=2026-06-01T12:00:00Z`), ["first"]);
    t.same(await actions("?since=0000-01-01T00:00:00Z&until=9999-12-31T23:59:59-23:59"), [
      "after",
      "before",
      ...inside,
    ]);
    t.same(await actions("?since=9999-12-31T23:59:59Z"), []);
    const all = (await audit(`?${since}&${until}`)).body.data;
    const pages = await readPages<Entry>((query) => audit(`${query}&${since}&${until}`), 3);
    t.same(pages, { forward: all, backward: all });
    const bad: [string, string][] = [
      ["/since", `?${until}&since=2026-06-01T13:00:00.001Z`],
      ["/since", "?since=yesterday"],
      ["/since", "?since=2016-12-31T23:59:60Z"],
      ["/until", "?until=2026-06-01"],
      ["/until", `?${until}&until=2026-06-02T00:00:00Z`],
    ];
    for (const [path, query] of bad) {
      const { status, body } = await audit(query);
      t.equal(status, 400, query);
      t.match(body, { error: "validation_failed", details: [{ path }] }, query);
    }
  });

  t.test("a period costs nothing for the entries before and after it", async (t) => {
    const { id } = await makeTenant(api);
    const many = Date.parse("2026-06-01T12:00:00Z");
    const isoAt = (offset: number) => new Date(many + offset).toISOString();
    await insertEntries(api, id, { at: isoAt(0), count: 50_000 });
    for (const days of [-2, -1, 1, 2]) await insertEntries(api, id, { at: isoAt(days * DAY) });
    const [before, after] = [new Date(many - 2 * HOUR), new Date(many + 2 * HOUR)];
    const searches: [AuditFilters, object][] = [
      [{ until: before }, {}],
      [{ since: new Date(many - 3 * DAY), until: before, action: "none" }, { before: "" }],
      [{ since: after }, {}],
      [{ since: after, action: "none" }, { before: "" }],
    ];
    for (const [filters, position] of searches) {
      const search = { ...filters, page: { limit: 25, ...position } };
      const read = await countReads(api, id, search);
      t.ok(read < 100, `${read} entries for ${JSON.stringify(search)}`);
    }
  });

  t.test("the audit log is paged newest first, forward and backward, also when filtered", async (t) => {
    const owner = await (await makeTenant(api)).createUser("owner");
    await performAuditedActions(api, owner.headers);
    await performAuditedActions(api, owner.headers);
    const audit = auditOf(api, owner);
    const all = (await audit("?limit=100")).body.data;
    t.equal(all.length, 12);
    t.same(await readPages<Entry>(audit, 5), { forward: all, backward: all });
    const keys = all.filter(({ action }: Entry) => action === "key.created");
    const filtered = await readPages<Entry>((query) => audit(`${query}&action=key.created`), 1);
    t.same(filtered, { forward: keys, backward: keys });
  });

  t.test("another client sees none of the entries", async (t) => {
    const [tenant, other] = [await makeTenant(api), await makeTenant(api)];
    const [owner, otherOwner] = [await tenant.createUser("owner"), await other.createUser("owner")];
    await performAuditedActions(api, owner.headers);
    t.same((await auditOf(api, otherOwner)()).body.data, []);
    t.same((await auditOf(api, otherOwner)(`?actor_id=${owner.id}`)).body.data, []);
    const { after } = (await auditOf(api, owner)("?limit=1")).body.paging.cursors;
    t.equal((await auditOf(api, otherOwner)(`?after=${after}`)).status, 400);
  });

  t.test("a refused action leaves no entry", async (t) => {
    const [tenant, other] = [await makeTenant(api), await makeTenant(api)];
    const [owner, admin, otherOwner] = [
      await tenant.createUser("owner"),
      await tenant.createUser("admin"),
      await other.createUser("owner"),
    ];
    const key = await tenant.createKey("messages:send");
    const before = (await auditOf(api, owner)()).text;
    const refused: [SignedInUser, string, string, unknown, number][] = [
      [owner, "POST", "/api/keys", { name: "k", scopes: [] }, 400],
      [owner, "POST", "/api/users", { email: admin.email, name: "k", role: "member" }, 400],
      [owner, "PATCH", `/api/users/${owner.id}`, { enabled: false }, 409],
      [
        owner,
        "POST",
        `/api/users/${owner.id}/password`,
        { password: NEW_PASSWORD, old_password: "wrong" },
        400,
      ],
      [admin, "PATCH", `/api/users/${owner.id}`, { role: "viewer" }, 403],
      [admin, "POST", `/api/users/${owner.id}/password`, { password: NEW_PASSWORD }, 403],
      [otherOwner, "DELETE", `/api/keys/${key.id}`, undefined, 404],
      [otherOwner, "POST", `/api/keys/${key.id}/rotate`, {}, 404],
      [otherOwner, "PATCH", `/api/users/${admin.id}`, { name: "x" }, 404],
      [otherOwner, "POST", `/api/users/${admin.id}/password`, { password: NEW_PASSWORD }, 404],
    ];
    for (const [{ headers }, method, path, json, status] of refused)
      t.equal((await api.call(method, path, { headers, json })).status, status, `${method} ${path}`);
    t.equal((await auditOf(api, owner)()).text, before);
    t.same((await auditOf(api, otherOwner)()).body.data, []);
  });

  t.test("revoking a key twice is recorded once", async (t) => {
    const tenant = await makeTenant(api);
    const owner = await tenant.createUser("owner");
    const { id } = await tenant.createKey("messages:send");
    for (let count = 0; count < 2; count++)
      await api.call("DELETE", `/api/keys/${id}`, { headers: owner.headers });
    t.equal((await auditOf(api, owner)("?action=key.revoked")).body.data.length, 1);
  });
});
