import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { startPostgres } from "../../../src/local/postgres.ts";
import { startRedis } from "../../../src/local/redis.ts";
import { makeSocialPages, startReceiver, startTraffic } from "../../fixtures/events/traffic.ts";
import { startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { postgresProgram, redisProgram } from "../../fixtures/servers/programs.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const portOf = (url: string) => Number(new URL(url).port);

t.test("the processes survive an outage of Postgres or Redis and recover without help", async (t) => {
  const folder = makeTempFolder(t);
  const makePostgres = (port?: number) =>
    startPostgres({
      program: postgresProgram(),
      folder: join(folder, "pg"),
      durable: false,
      ...(port ? { port } : {}),
    });
  const makeRedis = (port?: number) =>
    startRedis({
      program: redisProgram(),
      folder: join(folder, "redis"),
      durable: false,
      ...(port ? { port } : {}),
    });
  let postgres = await makePostgres();
  let redis = await makeRedis();
  t.teardown(() => Promise.all([postgres.stop(), redis.stop()]));

  const overrides = { DATABASE_URL: postgres.url, REDIS_URL: redis.url, PRIVATE_DESTINATIONS: "127.0.0.0/8" };
  const settings = { ...(await testSettings(t)), ...overrides };
  const migrate = startProcess(t, "migrate", settings);
  await migrate.waitForLine("migrations.applied");
  const web = await startWeb(t, settings);
  const dispatchers = [
    startProcess(t, "dispatcher", settings),
    startProcess(t, "dispatcher", settings),
  ] as const;
  for (const dispatcher of dispatchers) await dispatcher.waitForLine("process.ready");
  const readiness = async () => {
    const { status, body } = await web.call("GET", "/readyz");
    return `${status} ${body.status}`;
  };
  t.equal(await readiness(), "200 ready");
  const receiver = await startReceiver(t);
  const pages = await makeSocialPages(settings, receiver, 3);
  /** Waits for any message that is acknowledged from now on: on a loaded machine, the latest is never the one that arrived. */
  const untilNextArrives = (description: string, { acknowledged }: { acknowledged: readonly string[] }) => {
    const before = acknowledged.length;
    return until(description, () => acknowledged.slice(before).some((id) => receiver.deliveryCounts.has(id)));
  };
  /** Causes an outage during traffic; asserts that all events are delivered. */
  const withTraffic = async (name: string, causeOutage: () => Promise<void>) => {
    const traffic = startTraffic({ address: web.address, pages, perSecond: 40, messagesPerWebhook: 2, name });
    await until("the first events arrive", () => receiver.deliveryCounts.has(`${name}_1_1`));
    await causeOutage();
    await untilNextArrives("events arrive again", traffic);
    await traffic.stop();
    const missing = () => traffic.acknowledged.filter((message) => !receiver.deliveryCounts.has(message));
    await until(`all events are delivered (${name})`, () => missing().length === 0);
    t.pass(name);
  };

  await withTraffic("redis", async () => {
    await redis.stop();
    await until("degraded", async () => (await readiness()) === "200 degraded");
    redis = await makeRedis(portOf(redis.url));
    await until("ready again", async () => (await readiness()) === "200 ready");
  });

  await withTraffic("postgres", async () => {
    await postgres.stop();
    await until("not ready", async () => (await readiness()) === "503 unavailable");
    await dispatchers[0].waitForLine("heartbeat.failed");
    t.equal((await web.call("GET", "/healthz")).status, 200, "the process is alive");
    postgres = await makePostgres(portOf(postgres.url));
    await until("ready again", async () => (await readiness()) === "200 ready");
  });

  const resume = () => void process.kill(redis.pid, "SIGCONT");
  t.teardown(resume); // a failed test must not leave a frozen server, which cannot be stopped
  await withTraffic("frozen", async () => {
    process.kill(redis.pid, "SIGSTOP");
    t.equal(await readiness(), "200 degraded", "a hanging Redis counts as unavailable");
    const frozenAt = Date.now();
    while (Date.now() < frozenAt + 15_000) {
      t.equal((await web.call("GET", "/api/channels")).status, 401, "the API still answers");
      await sleep(1_000);
    }
    resume();
    await until("ready again", async () => (await readiness()) === "200 ready");
  });

  // Delay answers from now on, so that there are always deliveries in flight.
  receiver.delayMs = 500;
  const traffic = startTraffic({
    address: web.address,
    pages,
    perSecond: 40,
    messagesPerWebhook: 2,
    name: "stopped",
  });
  await until("calls are open", () => receiver.openRequests() >= 10);
  const stopRequestedAt = Date.now();
  t.equal(await dispatchers[0].stop(), 0);
  t.ok(Date.now() - stopRequestedAt < 25_000, "within the platforms' shutdown time");
  const { in_flight } = await dispatchers[0].waitForLine("dispatcher.drained");
  t.ok(Number(in_flight) > 0, "stopped with deliveries in flight");
  await untilNextArrives("the other dispatcher continues", traffic);
  await traffic.stop();
  const acknowledged = traffic.acknowledged;
  await until("all events are delivered", () =>
    acknowledged.every((message) => receiver.deliveryCounts.has(message)),
  );
  t.same(
    acknowledged.filter((message) => receiver.deliveryCounts.get(message) !== 1),
    [],
    "each is delivered once",
  );
  const raw = await connectRawClient(t, postgres.url);
  const unexpectedRowsQuery = `
    select d.state, d.attempts, count(a.attempt)::integer as written, count(*)::integer as count
    from events e
    join deliveries d using (client_id, id)
    left join attempts a using (client_id, id)
    where e.payload like '%"stopped\\_%'
    group by d.state, d.attempts, d.id
    having d.state <> 'delivered' or d.attempts <> 1 or count(a.attempt) <> 1`;
  await until(
    "each attempt is recorded once",
    async () => (await raw.query(unexpectedRowsQuery)).rows.length === 0,
  );

  t.equal(await web.stop(), 0);
  t.equal(await dispatchers[1].stop(), 0);
});
