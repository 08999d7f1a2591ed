import { join } from "node:path";
import t from "tap";
import { startPostgres } from "../../src/local/postgres.ts";
import { startRedis } from "../../src/local/redis.ts";
import { openFolder } from "../fixtures/folders.ts";
import { startProcess, startWeb } from "../fixtures/processes.ts";
import { postgresProgram, redisProgram } from "../fixtures/programs.ts";
import { testSettings } from "../fixtures/settings.ts";
import { until } from "../fixtures/until.ts";

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

  const settings = { ...(await testSettings(t)), DATABASE_URL: postgres.url, REDIS_URL: redis.url };
  const migrate = startProcess(t, "migrate", settings);
  await migrate.line("migrations.applied");
  const web = await startWeb(t, settings);
  const dispatcher = startProcess(t, "dispatcher", settings);
  await dispatcher.line("process.ready");
  const readiness = async () => {
    const { status, body } = await web.call("GET", "/readyz");
    return `${status} ${body.status ?? body.error}`;
  };
  t.equal(await readiness(), "200 ready");

  await redis.stop();
  await until("degraded", async () => (await readiness()) === "200 degraded");
  redis = await makeRedis(portOf(redis.url));
  await until("ready again", async () => (await readiness()) === "200 ready");

  await postgres.stop();
  await until("not ready", async () => (await readiness()) === "503 temporarily_unavailable");
  await dispatcher.line("heartbeat.failed");
  t.equal((await web.call("GET", "/healthz")).status, 200, "the process itself lives");
  postgres = await makePostgres(portOf(postgres.url));
  await until("ready again", async () => (await readiness()) === "200 ready");

  const resume = () => void process.kill(redis.pid, "SIGCONT");
  t.teardown(resume); // or a failure here would leave a server that can not be stopped
  process.kill(redis.pid, "SIGSTOP");
  t.equal(await readiness(), "200 degraded", "a Redis that hangs is away too");
  resume();
  await until("ready again", async () => (await readiness()) === "200 ready");

  t.equal(await web.stop(), 0);
  t.equal(await dispatcher.stop(), 0);
});
