import t, { type Test } from "tap";
import { route } from "../../src/http/route.ts";
import { object, Type } from "../../src/schema/types.ts";
import { type Api, startApi } from "../fixtures/http/api.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const POOL = 4;
const SHARE = 2;

/** A route that asks Postgres once. */
const countRoute = route({
  method: "get",
  path: "/api/things",
  scope: "any_credential",
  summary: "Count things",
  reply: object({ count: Type.Number() }),
  async handle({ db }) {
    const [row] = await db.query<{ count: number }>("select 1 as count");
    return { count: row?.count ?? 0 };
  },
});

const START_OPTIONS = {
  settings: { DATABASE_POOL: String(POOL), RATE_LIMIT_PER_MINUTE: "1000" },
  statementTimeoutMs: 2_000,
  credentialTtlMs: 600_000,
};

/** Uses connections of this key until the test ends. */
async function holdConnections(t: Test, api: Api, { key, count }: { key: string; count: number }) {
  let [running, release] = [0, () => {}];
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  t.teardown(release);
  for (let started = 0; started < count; started++)
    void api.db
      .forKey(key)
      .transaction(async () => {
        running += 1;
        await released;
      })
      .catch(() => {}); // the commit comes too late for the statement timeout
  await until(`${count} connections are used`, () => running === count);
}

t.test(
  "429 without RateLimit headers when the own share is used, 503 when the others use the rest",
  async (t) => {
    const api = await startApi(t, { ...START_OPTIONS, routes: () => [countRoute] });
    const [busy, other] = [await makeTenant(api), await makeTenant(api)];
    const [busyKey, otherKey] = [
      await busy.createKey("messages:send"),
      await other.createKey("messages:send"),
    ];
    const count = ({ headers }: typeof busyKey) => api.call("GET", "/api/things", { headers });
    const before = await count(busyKey);
    t.equal(before.status, 200);
    t.ok(before.headers.get("ratelimit-limit"));
    t.equal((await count(otherKey)).status, 200);
    await holdConnections(t, api, { key: busy.id, count: SHARE });
    const limited = await count(busyKey);
    t.equal(limited.status, 429);
    t.match(limited.body, { error: "rate_limited" });
    t.equal(limited.headers.get("retry-after"), "5");
    for (const name of ["limit", "remaining", "reset"])
      t.equal(limited.headers.get(`ratelimit-${name}`), null);
    t.equal((await count(otherKey)).status, 200, "another client is served");
    await holdConnections(t, api, { key: "third", count: POOL - SHARE });
    const refused = await count(otherKey);
    t.equal(refused.status, 503);
    t.match(refused.body, { error: "overloaded" });
    t.equal(refused.headers.get("retry-after"), "5");
    t.notOk(
      api.lines.some(({ event }) => event === "http.failed"),
      "a refusal is not logged as a fault",
    );
  },
);

t.test("the process is ready while one client uses its whole share and others use the rest", async (t) => {
  const api = await startApi(t, START_OPTIONS);
  await until("the process is ready", async () => (await api.call("GET", "/readyz")).status === 200);
  await holdConnections(t, api, { key: "client", count: SHARE });
  await holdConnections(t, api, { key: "others", count: POOL - SHARE });
  const heldAt = performance.now();
  let asked = 0;
  await until("the readiness was asked again", async () => {
    const reply = await api.call("GET", "/readyz");
    t.match(reply, { status: 200, body: { postgres: "ok" } });
    asked += 1;
    return performance.now() - heldAt > 1_500;
  });
  t.ok(asked > 1);
});

t.test("web warns at its start when the pool is too small to be divided", async (t) => {
  const warningsOf = async (DATABASE_POOL: string) => {
    const api = await startApi(t, { settings: { DATABASE_POOL } });
    return api.lines.filter(({ event }) => event === "postgres.pool_undersized");
  };
  t.match(await warningsOf("3"), [{ level: "warn", pool: 3 }]);
  t.same(await warningsOf("4"), []);
});
