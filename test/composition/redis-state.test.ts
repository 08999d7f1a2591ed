import t from "tap";
import type { Fields } from "../../src/runtime/log.ts";
import { startBackend } from "../fixtures/events/backends.ts";
import { configureWebhook, makeEvents } from "../fixtures/events/events.ts";
import { startApi } from "../fixtures/http/api.ts";
import { startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { REFUSALS, startRefusingRedis } from "../fixtures/servers/redis-refusals.ts";
import { watchStatements } from "../fixtures/servers/statements.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const FULL = REFUSALS["a Redis out of memory"];

const redisEvents = (lines: readonly Fields[]) =>
  lines.map(({ event }) => String(event)).filter((event) => event.startsWith("redis."));

t.test("a dispatcher whose Redis is full polls quickly and delivers events", async (t) => {
  const { url, admin } = await startRefusingRedis(t);
  const polls: number[] = [];
  const { database } = watchStatements(async (text) => {
    if (text.includes("from delivery_queue") && text.includes("with recursive keys"))
      polls.push(performance.now());
  });
  const { db, config, lines, metrics } = await startDispatcher(t, {
    settings: { REDIS_URL: url },
    database,
  });
  /** Milliseconds between the polls from this one on. */
  const intervals = (first = 0) =>
    polls.slice(first + 1).map((at, index) => at - (polls[first + index] as number));
  await until("the wake-ups have a reader", async () => await admin.exists("{18}:events"));
  const first = polls.length;
  await until("there are polls", () => intervals(first).length >= 2);
  t.ok(intervals(first).every((ms) => ms > 850));
  await FULL?.begin(admin);
  const isQuick = () =>
    intervals()
      .slice(-2)
      .every((ms) => ms < 600);
  await until("the polls are quick", isQuick);
  t.same(redisEvents(lines), ["redis.read_only"]);
  t.match(await metrics.text(), /^herald_redis_up\{process="dispatcher"\} 1$/m);
  t.match(await metrics.text(), /^herald_redis_writable\{process="dispatcher"\} 0$/m);

  let delivered = 0;
  const backend = await startBackend(t, (_, response) => {
    delivered += 1;
    response.end();
  });
  const tenant = await makeTenant({ db, config });
  await configureWebhook({ db }, tenant, { url: backend.url });
  await makeEvents({ db }, tenant, {}, {});
  await until("the events are delivered", () => delivered === 2);

  await FULL?.end(admin);
  await until("the writes are accepted again", () => redisEvents(lines).at(-1) === "redis.recovered");
  t.same(redisEvents(lines), ["redis.read_only", "redis.recovered"]);
});

t.test("web logs one line per outage of Redis and exports the state", async (t) => {
  const { url, admin, stop } = await startRefusingRedis(t);
  const METRICS_TOKEN = "a token for the metrics of a test";
  const { lines, call } = await startApi(t, { settings: { REDIS_URL: url, METRICS_TOKEN } });
  const gauge = async (name: string) => {
    const { text } = await call("GET", "/metrics", { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
    return new RegExp(`^${name}\\{process="web"\\} (\\d)$`, "m").exec(text)?.[1];
  };
  t.equal(await gauge("herald_redis_up"), "1");
  t.equal(await gauge("herald_redis_writable"), "1");
  await FULL?.begin(admin);
  await until("the refusal is exported", async () => (await gauge("herald_redis_writable")) === "0");
  t.equal(await gauge("herald_redis_up"), "1");
  await stop();
  await until("the outage is exported", async () => (await gauge("herald_redis_up")) === "0");
  await until("the process knows of the outage", () => redisEvents(lines).length === 2);
  t.same(redisEvents(lines), ["redis.read_only", "redis.unavailable"]);
});
