import { isDeepStrictEqual } from "node:util";
import t from "tap";
import { createProducerClient } from "../../../src/queue/redis.ts";
import { createReadinessProbe } from "../../../src/resources/health/routes.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { applyMigrations } from "../../../src/store/database/migrations.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { testSettings, unconnectedSettings } from "../../fixtures/processes/settings.ts";
import { startOneNodeCluster } from "../../fixtures/servers/redis-cluster.ts";
import { REFUSALS, startRefusingRedis, whileFrozen } from "../../fixtures/servers/redis-refusals.ts";
import { cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const READY = { status: "ready", postgres: "ok", redis: "ok" };

const readinessOf = async (api: Api) => {
  const { status, body } = await api.call("GET", "/readyz");
  return { code: status, body };
};

/** Waits for the exact response: on a busy machine a single probe may time out. */
const untilReadinessIs = (api: Api, code: number, body: object) =>
  until(`the readiness is ${code} ${JSON.stringify(body)}`, async () =>
    isDeepStrictEqual(await readinessOf(api), { code, body }),
  );

const untilUnmigrated = (api: Api) =>
  until("a probe finds the migrations missing", async () => {
    const readiness = await readinessOf(api);
    return readiness.body.postgres === "unmigrated" ? readiness : undefined;
  });

t.test("the process is ready when Postgres and Redis are reachable", async (t) => {
  const api = await startApi(t);
  await untilReadinessIs(api, 200, READY);
  const reply = await api.call("GET", "/readyz?from=balancer&from=elsewhere");
  t.equal(reply.status, 200);
  t.match(reply.headers.get("content-type"), /^application\/json/);
});

t.test("the process is ready with a Redis Cluster", async (t) => {
  const api = await startApi(t, { settings: { REDIS_URL: await startOneNodeCluster(t) } });
  await untilReadinessIs(api, 200, READY);
});

t.test("the process is degraded and still ready while Redis refuses writes or is unavailable", async (t) => {
  const { url, admin, pid, stop } = await startRefusingRedis(t);
  const api = await startApi(t, { settings: { REDIS_URL: url } });
  const degraded = { status: "degraded", postgres: "ok" };
  for (const [name, { begin, end }] of Object.entries(REFUSALS)) {
    await untilReadinessIs(api, 200, READY);
    await begin(admin);
    await untilReadinessIs(api, 200, { ...degraded, redis: "read_only" });
    t.pass(name);
    await end(admin);
  }
  await untilReadinessIs(api, 200, READY);
  await whileFrozen(pid, () => untilReadinessIs(api, 200, { ...degraded, redis: "unavailable" }));
  await untilReadinessIs(api, 200, READY);
  await stop();
  await untilReadinessIs(api, 200, { ...degraded, redis: "unavailable" });
});

t.test("the process is not ready without Postgres and sends Retry-After", async (t) => {
  const settings = { ...(await testSettings(t)), DATABASE_URL: "postgres://none@127.0.0.1:1/none" };
  const api = await startApi(t, { config: readConfig(settings) });
  const reply = await until("a probe reaches Redis", async () => {
    const probe = await api.call("GET", "/readyz");
    return probe.body.redis === "ok" ? probe : undefined;
  });
  t.equal(reply.status, 503);
  const { message, request_id, ...rest } = reply.body;
  t.same(rest, {
    ...READY,
    error: "temporarily_unavailable",
    documentation: "/docs/guides/errors#which-requests-to-repeat",
    status: "unavailable",
    postgres: "unavailable",
  });
  t.match({ message, request_id }, { message: /cannot reach its database/, request_id: /^req_/ });
  t.equal(reply.headers.get("retry-after"), "5");
  t.equal((await api.call("HEAD", "/readyz")).status, 503);
  t.equal((await api.call("GET", "/healthz")).status, 200);
  const failure = api.lines.find(({ event }) => event === "http.failed");
  t.match(failure, { route: "/readyz", error: /ECONNREFUSED/, err: undefined });
});

t.test("the process reports both servers when neither is reachable", async (t) => {
  const unreachable = { DATABASE_URL: "postgres://none@127.0.0.1:1/none", REDIS_URL: "redis://127.0.0.1:1" };
  const api = await startApi(t, { config: readConfig({ ...(await testSettings(t)), ...unreachable }) });
  t.match(await readinessOf(api), {
    code: 503,
    body: { status: "unavailable", postgres: "unavailable", redis: "unavailable" },
  });
});

t.test("the process on an empty database becomes ready once the migrations are applied", async (t) => {
  const DATABASE_URL = await cloneDatabase(t, "template0");
  const api = await startApi(t, { settings: { DATABASE_URL } });
  const missingLines = () => api.lines.filter(({ event }) => event === "migrations.missing");
  t.match(missingLines(), [{ level: "warn", files: /^001_tenants\.sql,002_/ }], "logged at the start");
  for (let count = 0; count < 5; count++)
    t.match(await untilUnmigrated(api), {
      code: 503,
      body: {
        error: "temporarily_unavailable",
        message: /not migrated/,
        request_id: /^req_/,
        status: "unavailable",
        postgres: "unmigrated",
      },
    });
  t.equal((await api.call("GET", "/healthz")).status, 200);
  t.equal(missingLines().length, 1);
  t.notOk(
    api.lines.some(({ event, err }) => event === "http.failed" && err),
    "no stack per probe",
  );
  await applyMigrations(DATABASE_URL);
  await untilReadinessIs(api, 200, READY);
});

t.test("an outage is logged with its first and its last answer, and at debug in between", async (t) => {
  const DATABASE_URL = await cloneDatabase(t, "template0");
  const api = await startApi(t, { settings: { DATABASE_URL } });
  const linesOf = (name: string) =>
    api.lines.filter(({ event, route }) => event === name && route === "/readyz");
  for (let count = 1; count <= 3; count++) {
    await untilUnmigrated(api);
    await until("the fault is logged", () => linesOf("http.failed").length >= count);
  }
  const [first, ...later] = linesOf("http.failed").map(({ level }) => level);
  t.equal(first, "error");
  t.same([...new Set(later)], ["debug"]);
  t.same(linesOf("http.recovered"), []);
  await applyMigrations(DATABASE_URL);
  await untilReadinessIs(api, 200, READY);
  await untilReadinessIs(api, 200, READY);
  t.match(linesOf("http.recovered"), [{ level: "info" }]);
});

t.test("the process on a database older than the code is not ready, on a newer one it is", async (t) => {
  const DATABASE_URL = await cloneDatabase(t);
  const raw = await connectRawClient(t, DATABASE_URL);
  await raw.query("create table removed as select * from migrations where id = 7");
  await raw.query("delete from migrations where id = 7");
  const older = await startApi(t, { settings: { DATABASE_URL } });
  t.match(await untilUnmigrated(older), { code: 503 });
  await raw.query("insert into migrations select * from removed");
  await raw.query("insert into migrations (id, name, hash) values (999, 'later', 'later')");
  await untilReadinessIs(older, 200, READY);
  const newer = await startApi(t, { settings: { DATABASE_URL } });
  await untilReadinessIs(newer, 200, READY);
});

t.test("concurrent requests share one question to Postgres", async (t) => {
  const redis = createProducerClient(readConfig(unconnectedSettings()));
  t.teardown(() => redis.disconnect());
  let pings = 0;
  const probe = { ping: async () => void pings++ };
  const examine = createReadinessProbe({
    probe,
    migrations: { missing: async () => [] },
    redis,
    tags: [18],
  });
  const findings = await Promise.all([examine(), examine()]);
  t.same(findings[0], { postgres: "ok", redis: "unavailable" });
  t.equal(findings[0], findings[1]);
  t.equal(pings, 1);
  await until("the next second has begun", async () => (await examine()) !== findings[0]);
  t.equal(pings, 2);
});
