import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { startPostgres } from "../../../src/local/postgres.ts";
import { startRedis } from "../../../src/local/redis.ts";
import { makePages, startReceiver, startTraffic } from "../../fixtures/events/traffic.ts";
import { startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { openFolder } from "../../fixtures/servers/folders.ts";
import { postgresProgram, redisProgram } from "../../fixtures/servers/programs.ts";
import { rawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const portOf = (url: string) => Number(new URL(url).port);

t.test("the processes outlive an outage of either server and find it again by themselves", async (t) => {
  const folder = openFolder(t);
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

  const own = { DATABASE_URL: postgres.url, REDIS_URL: redis.url, PRIVATE_DESTINATIONS: "127.0.0.0/8" };
  const settings = { ...(await testSettings(t)), ...own };
  const migrate = startProcess(t, "migrate", settings);
  await migrate.line("migrations.applied");
  const web = await startWeb(t, settings);
  const dispatchers = [
    startProcess(t, "dispatcher", settings),
    startProcess(t, "dispatcher", settings),
  ] as const;
  for (const dispatcher of dispatchers) await dispatcher.line("process.ready");
  const readiness = async () => {
    const { status, body } = await web.call("GET", "/readyz");
    return `${status} ${body.status ?? body.error}`;
  };
  t.equal(await readiness(), "200 ready");
  const receiver = await startReceiver(t);
  const pages = await makePages(settings, receiver, 3);
  /** What people write meanwhile is told, all of it, and without any help. */
  const meanwhile = async (name: string, outage: () => Promise<void>) => {
    const traffic = startTraffic({ address: web.address, pages, perSecond: 40, together: 2, name });
    await until("the first are there", () => receiver.taken.has(`${name}_1_1`));
    await outage();
    await until("they come again", () => receiver.taken.has(traffic.answered.at(-1) as string));
    await traffic.stop();
    const missing = () => traffic.answered.filter((message) => !receiver.taken.has(message));
    await until(`all are told (${name})`, () => missing().length === 0);
    t.pass(name);
  };

  await meanwhile("redis", async () => {
    await redis.stop();
    await until("degraded", async () => (await readiness()) === "200 degraded");
    redis = await makeRedis(portOf(redis.url));
    await until("ready again", async () => (await readiness()) === "200 ready");
  });

  await meanwhile("postgres", async () => {
    await postgres.stop();
    await until("not ready", async () => (await readiness()) === "503 temporarily_unavailable");
    await dispatchers[0].line("heartbeat.failed");
    t.equal((await web.call("GET", "/healthz")).status, 200, "the process itself lives");
    postgres = await makePostgres(portOf(postgres.url));
    await until("ready again", async () => (await readiness()) === "200 ready");
  });

  const resume = () => void process.kill(redis.pid, "SIGCONT");
  t.teardown(resume); // or a failure here would leave a server that can not be stopped
  await meanwhile("frozen", async () => {
    process.kill(redis.pid, "SIGSTOP");
    t.equal(await readiness(), "200 degraded", "a Redis that hangs is away too");
    const frozen = Date.now();
    while (Date.now() < frozen + 15_000) {
      t.equal((await web.call("GET", "/api/channels")).status, 401, "the API goes on answering");
      await sleep(1_000);
    }
    resume();
    await until("ready again", async () => (await readiness()) === "200 ready");
  });

  // Answers come late from now on, so that there is always something in hand.
  receiver.delay = 500;
  const traffic = startTraffic({ address: web.address, pages, perSecond: 40, together: 2, name: "stopped" });
  await until("calls are open", () => receiver.open() >= 10);
  const asked = Date.now();
  t.equal(await dispatchers[0].stop(), 0);
  t.ok(Date.now() - asked < 25_000, "within what platforms grant");
  const { in_hand } = await dispatchers[0].line("dispatcher.drained");
  t.ok(Number(in_hand) > 0, "in the middle of it");
  await until("the other one goes on", () => receiver.taken.has(traffic.answered.at(-1) as string));
  await traffic.stop();
  const ours = traffic.answered;
  await until("all are told", () => ours.every((message) => receiver.taken.has(message)));
  t.same(
    ours.filter((message) => receiver.taken.get(message) !== 1),
    [],
    "each once",
  );
  const raw = await rawClient(t, postgres.url);
  const others = `
    select d.state, d.attempts, count(a.attempt)::integer as written, count(*)::integer as count
    from events e
    join deliveries d using (client_id, id)
    left join attempts a using (client_id, id)
    where e.payload like '%"stopped\\_%'
    group by d.state, d.attempts, d.id
    having d.state <> 'delivered' or d.attempts <> 1 or count(a.attempt) <> 1`;
  await until("each attempt is written down once", async () => (await raw.query(others)).rows.length === 0);

  t.equal(await web.stop(), 0);
  t.equal(await dispatchers[1].stop(), 0);
});
