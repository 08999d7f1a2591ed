import t, { type Test } from "tap";
import { awaitConnection, createProducerClient, type RedisClient } from "../../src/queue/redis.ts";
import { createRedisState } from "../../src/queue/redis-state.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import { connectRedis, openProducer } from "../fixtures/servers/redis.ts";
import { type RedisNode, startCluster } from "../fixtures/servers/redis-cluster.ts";
import { REFUSALS, startRefusingRedis, whileFrozen } from "../fixtures/servers/redis-refusals.ts";
import { until } from "../fixtures/until.ts";

const CONNECT_TIMEOUT_MS = 60_000;
const INTERVAL_MS = 50;

/** Refusals of all kinds are tested in redis-writes.test.ts. */
const FULL = REFUSALS["a Redis out of memory"];

/** A started worker, the events that it has logged, and its gauges. */
async function startState(t: Test, redis: RedisClient) {
  const { log, lines, events } = captureLog();
  const metrics = createMetrics("test");
  const state = createRedisState({ redis, tags: [18], log, metrics, intervalMs: INTERVAL_MS });
  await awaitConnection(redis, CONNECT_TIMEOUT_MS);
  await state.start?.({ fail: (error) => void t.fail(String(error)) });
  t.teardown(() => state.close?.());
  const untilLogged = (event: string) => until(`${event} is logged`, () => events().at(-1) === event);
  const gauges = async () => {
    const text = await metrics.text();
    const [up, writable] = ["up", "writable"].map((name) =>
      Number(new RegExp(`^herald_redis_${name}\\{.*\\} (\\d)$`, "m").exec(text)?.[1]),
    );
    return { up, writable };
  };
  return { state, lines, events, untilLogged, gauges };
}

t.test("each change between the states is logged once", async (t) => {
  const { url, admin, pid, stop } = await startRefusingRedis(t);
  const redis = createProducerClient(readConfig({ ...unconnectedSettings(), REDIS_URL: url }));
  t.teardown(() => redis.disconnect());
  const { state, lines, events, untilLogged, gauges } = await startState(t, redis);
  t.same(lines, []);
  t.ok(state.isWritable());
  t.same(await gauges(), { up: 1, writable: 1 });
  await FULL?.begin(admin);
  await untilLogged("redis.read_only");
  t.notOk(state.isWritable());
  t.same(await gauges(), { up: 1, writable: 0 });
  await whileFrozen(pid, () => untilLogged("redis.unavailable"));
  t.same(await gauges(), { up: 0, writable: 0 });
  await untilLogged("redis.read_only");
  await FULL?.end(admin);
  await untilLogged("redis.recovered");
  t.ok(state.isWritable());
  t.same(await gauges(), { up: 1, writable: 1 });
  await stop();
  await untilLogged("redis.unavailable");
  t.notOk(state.isWritable());
  const words = ["read_only", "unavailable", "read_only", "recovered", "unavailable"];
  t.same(
    events(),
    words.map((word) => `redis.${word}`),
  );
  t.match(lines, [
    { level: "warn", err: /^OOM / },
    { level: "warn", err: "Command timed out" },
    { level: "warn", err: /^OOM / },
    { level: "info" },
    { level: "warn" },
  ]);
});

t.test("an unreachable Redis is logged at the start, with the reason", async (t) => {
  const { state, lines } = await startState(t, openProducer(t));
  t.match(lines, [{ event: "redis.unavailable", level: "warn", err: /ECONNREFUSED/ }]);
  t.notOk(state.isWritable());
});

t.test("the reason of an outage names the node of a cluster", async (t) => {
  const { url, nodes } = await startCluster(t, { primaries: 1, replicas: 0 });
  const [node] = nodes as [RedisNode];
  const { lines, untilLogged } = await startState(t, await connectRedis(t, url));
  node.signal("SIGKILL");
  await untilLogged("redis.unavailable");
  t.match(lines, [{ err: new RegExp(`^127\\.0\\.0\\.1:${node.port}: `) }]);
});

t.test("a single late answer is no outage, two in a row are", async (t) => {
  const redis = await connectRedis(t);
  let writes = 0;
  let hangingWrites = 0;
  const set = (key: string, value: string, unit: "PX", ms: number) => {
    writes += 1;
    if (hangingWrites === 0) return redis.set(key, value, unit, ms);
    hangingWrites -= 1;
    return new Promise(() => {});
  };
  const slow: RedisClient = Object.create(redis, { set: { value: set } });
  const { state, lines, events, untilLogged } = await startState(t, slow);
  const untilProbed = (probes: number) => {
    const end = writes + probes;
    return until("the probes are made", () => writes >= end);
  };
  hangingWrites = 1;
  await untilProbed(2);
  t.same(lines, []);
  t.ok(state.isWritable());
  hangingWrites = 2;
  await untilLogged("redis.recovered");
  t.same(events(), ["redis.unavailable", "redis.recovered"]);
});
