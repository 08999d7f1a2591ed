import { subscribe, unsubscribe } from "node:diagnostics_channel";
import t from "tap";
import { cachedLookup } from "../../src/http/credentials.ts";
import { HOUR, SECOND } from "../../src/runtime/durations.ts";
import type { Database } from "../../src/store/database/database.ts";
import { DatabaseUnavailable } from "../../src/store/database/faults.ts";
import { startApi } from "../fixtures/http/api.ts";
import { watchStatements } from "../fixtures/servers/statements.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const ME = "/api/auth/me";

t.test("a credential is read again within 5 s, the time of its query included", async (t) => {
  let [passedMs, queryMs, reads] = [1 * SECOND, 0, 0];
  t.intercept(performance, "now", { value: () => passedMs });
  const { find } = cachedLookup(async () => {
    passedMs += queryMs;
    return ++reads;
  });
  t.equal(await find("a"), 1);
  passedMs += 3 * SECOND;
  t.equal(await find("a"), 1, "cached");
  passedMs += 2 * SECOND;
  queryMs = 3 * SECOND;
  t.equal(await find("a"), 2);
  passedMs += 2 * SECOND;
  t.equal(await find("a"), 3, "five seconds after its query began");
});

t.test("a cached credential needs no query", async (t) => {
  const { statements, database } = watchStatements();
  const api = await startApi(t, { database, credentialTtlMs: 1 * HOUR });
  const tenant = await makeTenant(api);
  for (const [what, { headers }] of [
    ["API key", await tenant.createKey("messages:send")],
    ["user", await tenant.createUser("member")],
  ] as const) {
    statements.length = 0;
    t.equal((await api.call("GET", ME, { headers })).status, 200);
    t.ok(statements.length > 0, `${what}: the first request queries`);
    statements.length = 0;
    for (let count = 0; count < 20; count++) t.equal((await api.call("GET", ME, { headers })).status, 200);
    t.same(statements, [], `${what}: the others use the cache`);
  }
});

t.test("an invalid credential is cached too", async (t) => {
  const { statements, database } = watchStatements();
  const api = await startApi(t, { database, credentialTtlMs: 1 * HOUR });
  const { text } = await (await makeTenant(api)).createKey();
  const headers = { "x-svc-api-key": text.replace(/_\w{26}_/, `_${"0".repeat(26)}_`) };
  statements.length = 0;
  for (let count = 0; count < 10; count++) t.equal((await api.call("GET", ME, { headers })).status, 401);
  t.equal(statements.length, 1);
});

t.test("a hundred concurrent requests need one query per credential", async (t) => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  // Blocks each lookup until all requests have arrived.
  const { statements, database } = watchStatements(async (text) => {
    if (text.includes("client_name")) await opened;
  });
  const api = await startApi(t, { database, credentialTtlMs: 1 * HOUR });
  const tenant = await makeTenant(api);
  const credentials = [await tenant.createKey("messages:send"), await tenant.createUser("member")];
  statements.length = 0;
  let arrived = 0;
  const count = () => void arrived++;
  subscribe("http.server.request.start", count);
  t.teardown(() => unsubscribe("http.server.request.start", count));
  const requests = Array.from({ length: 100 }, (_, index) =>
    api.call("GET", ME, { headers: credentials[index % 2]?.headers ?? {} }),
  );
  await until("all requests have arrived", () => arrived === 100 && statements.length >= 2);
  open();
  for (const { status } of await Promise.all(requests)) t.equal(status, 200);
  const lookups = statements.filter((text) => text.includes("client_name"));
  t.equal(lookups.length, 2);
  t.equal(statements.length, 3, "two lookups and one update of last_used_at");
});

t.test("a lookup in progress while its key is revoked is not cached", async (t) => {
  let [resume, isHeld] = [() => {}, false];
  const resumed = new Promise<void>((resolve) => {
    resume = resolve;
  });
  // Holds the row of the first lookup, which was read before the revocation.
  const database = (real: Database): Database => ({
    ...real,
    async query(statement, values) {
      const rows = await real.query<never>(statement, values);
      if (isHeld || typeof statement === "string" || !statement.text.includes("k.secret_hash")) return rows;
      isHeld = true;
      await resumed;
      return rows;
    },
  });
  const api = await startApi(t, { database });
  const tenant = await makeTenant(api);
  const [owner, key] = [await tenant.createUser("owner"), await tenant.createKey("messages:send")];
  const pending = api.call("GET", ME, { headers: key.headers });
  await until("the lookup is held", () => isHeld);
  t.equal((await api.call("DELETE", `/api/keys/${key.id}`, { headers: owner.headers })).status, 204);
  resume();
  t.equal((await pending).status, 200, "this request came before the revocation");
  t.equal((await api.call("GET", ME, { headers: key.headers })).status, 401);
});

t.test("a failed lookup is not cached", async (t) => {
  let isUnavailable = false;
  const { database } = watchStatements(async () => {
    if (isUnavailable) throw new DatabaseUnavailable(new Error("unreachable"));
  });
  const api = await startApi(t, { database });
  const tenant = await makeTenant(api);
  for (const { headers } of [await tenant.createKey("messages:send"), await tenant.createUser("member")]) {
    isUnavailable = true;
    const reply = await api.call("GET", ME, { headers });
    t.equal(reply.status, 503);
    t.ok(reply.headers.has("retry-after"));
    isUnavailable = false;
    t.equal((await api.call("GET", ME, { headers })).status, 200);
  }
});

t.test("a failed update of last_used_at does not fail the request", async (t) => {
  const { database } = watchStatements(async (text) => {
    if (text.includes("last_used_at = now()")) throw new Error("disk full");
  });
  const api = await startApi(t, { database });
  const { headers } = await (await makeTenant(api)).createKey("messages:send");
  t.equal((await api.call("GET", ME, { headers })).status, 200);
  await until("the failure is logged", () =>
    api.lines.find(({ event }) => event === "api_key.last_used_update_failed"),
  );
});
