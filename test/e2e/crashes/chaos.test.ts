import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { startRedis } from "../../../src/local/redis.ts";
import { makePages, startReceiver, startTraffic } from "../../fixtures/events/traffic.ts";
import { startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { openFolder } from "../../fixtures/servers/folders.ts";
import { redisProgram } from "../../fixtures/servers/programs.ts";
import { rawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const SECOND = 1_000;

t.test("nothing is lost and hardly anything told twice, whatever is killed", async (t) => {
  const folder = openFolder(t);
  const makeRedis = (port?: number) =>
    startRedis({ program: redisProgram(), folder, durable: false, ...(port ? { port } : {}) });
  let redis = await makeRedis();
  t.teardown(() => redis.stop());
  const own = { REDIS_URL: redis.url, PRIVATE_DESTINATIONS: "127.0.0.0/8" };
  const settings = await testSettings(t, own);
  const receiver = await startReceiver(t);
  const pages = await makePages(settings, receiver, 5);
  const { address } = await startWeb(t, settings);
  const startDispatcher = async () => {
    const dispatcher = startProcess(t, "dispatcher", settings);
    await dispatcher.line("process.ready");
    return dispatcher;
  };
  const dispatchers = await Promise.all([startDispatcher(), startDispatcher()]);
  const killAndRestart = async (index: number) => {
    await dispatchers[index]?.stop("SIGKILL");
    dispatchers[index] = await startDispatcher();
  };

  const traffic = startTraffic({ address, pages, perSecond: 200, together: 10 });
  const began = Date.now();
  const at = (second: number) => sleep(Math.max(0, began + second * SECOND - Date.now()));

  await at(3);
  await killAndRestart(0);
  await at(7);
  receiver.status = 503;
  await at(10);
  receiver.status = 200;
  await at(11);
  process.kill(redis.pid, "SIGKILL");
  await redis.stop();
  redis = await makeRedis(Number(new URL(redis.url).port));
  await at(15);
  await killAndRestart(1);
  const lastFault = Date.now();
  await at(20);
  await traffic.stop();
  t.ok(traffic.answered.length >= 4_000, "a steady 200 a second for 20 s");

  const raw = await rawClient(t, settings.DATABASE_URL as string);
  const recorded = await raw.query(
    "select payload::json -> 'data' ->> 'platform_message_id' as mid from events",
  );
  const messages = recorded.rows.map(({ mid }) => mid);
  t.same([...messages].sort(), [...traffic.answered].sort(), "what was answered is on record, once");
  const missing = () => messages.filter((mid) => !receiver.taken.has(mid));
  await until("all are there", () => receiver.taken.size === messages.length, 60 * SECOND).catch(() => {});
  t.same(missing(), [], "nothing is lost");
  t.ok(Date.now() - lastFault < 45 * SECOND, "within 45 s of the last fault");
  const twice = messages.filter((mid) => (receiver.taken.get(mid) ?? 0) > 1);
  t.ok(twice.length <= messages.length / 100, `${twice.length} were told twice`);
  const states = "select state, count(*)::integer as count from deliveries group by state";
  await until("all is written down", async () => {
    const { rows } = await raw.query(states);
    return rows.length === 1 && rows[0].state === "delivered";
  });
});
