import t from "tap";
import { awaitConnection, createProducerClient, type RedisClient } from "../../src/queue/redis.ts";
import { isWriteRefusal, probeRedisWrites } from "../../src/queue/redis-state.ts";
import { tagsOf } from "../../src/queue/wake-ups.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import { connectRedis, openProducer, startPrivateRedis } from "../fixtures/servers/redis.ts";
import { startOneNodeCluster } from "../fixtures/servers/redis-cluster.ts";
import { REFUSALS, startRefusingRedis, whileFrozen } from "../fixtures/servers/redis-refusals.ts";

const CLUSTER_TAGS = [...tagsOf({ REDIS_URL: { cluster: true, nodes: [] } })];

const probe = (redis: RedisClient, tags = [18]) => probeRedisWrites(redis, { tags, timeoutMs: 10_000 });

const errorOf = (work: Promise<unknown>): Promise<Error | undefined> =>
  work.then(
    () => undefined,
    (error: Error) => error,
  );

t.test("a probe writes one key per stream, and each expires", async (t) => {
  const redis = await connectRedis(t, (await startPrivateRedis(t)).url);
  await probe(redis);
  const keys = await redis.keys("*");
  t.same(keys.sort(), ["{18}:probe"]);
  for (const key of keys) {
    const expiresInMs = await redis.pttl(key);
    t.ok(expiresInMs > 0 && expiresInMs <= 10_000);
  }
});

for (const [name, { code, begin, end }] of Object.entries(REFUSALS))
  t.test(`${name} refuses the probe with ${code}, and accepts it later`, async (t) => {
    const { url, admin } = await startRefusingRedis(t);
    const redis = await connectRedis(t, url);
    await probe(redis);
    await begin(admin);
    const error = await errorOf(probe(redis));
    t.match(error?.message, new RegExp(`^${code} `));
    t.ok(isWriteRefusal(error));
    t.equal(await redis.get("any"), null, "the server still answers");
    await end(admin);
    await probe(redis);
  });

t.test("a user without write permission is refused", async (t) => {
  const { url } = await startPrivateRedis(t, ["user reader on >secret ~* +@all -@write"]);
  const address = new URL(url);
  address.username = "reader";
  address.password = "secret";
  t.ok(isWriteRefusal(await errorOf(probe(await connectRedis(t, address.href)))));
});

t.test("a node of a Redis Cluster that refuses writes is found", async (t) => {
  const url = await startOneNodeCluster(t);
  const redis = await connectRedis(t, url);
  await probe(redis, CLUSTER_TAGS);
  const admin = await connectRedis(t, url.replace("?cluster=true", ""));
  t.equal((await admin.keys("*:probe")).length, 12, "one key per tag");
  await REFUSALS["a Redis out of memory"]?.begin(admin);
  t.ok(isWriteRefusal(await errorOf(probe(redis, CLUSTER_TAGS))));
  await REFUSALS["a Redis out of memory"]?.end(admin);
  await probe(redis, CLUSTER_TAGS);
});

t.test("an unreachable or hanging Redis is no refusal", async (t) => {
  const unreachable = await errorOf(probe(openProducer(t)));
  t.ok(unreachable);
  t.notOk(isWriteRefusal(unreachable));
  const server = await startPrivateRedis(t);
  const config = readConfig({ ...unconnectedSettings(), REDIS_URL: server.url });
  const redis = createProducerClient(config);
  t.teardown(() => redis.disconnect());
  await awaitConnection(redis, 60_000);
  const [hanging, late] = await whileFrozen(server.pid, async () => [
    await errorOf(probe(redis)),
    await errorOf(probeRedisWrites(redis, { tags: [18], timeoutMs: 1 })),
  ]);
  t.match(hanging?.message, /timed out/);
  t.notOk(isWriteRefusal(hanging));
  t.match(late?.message, /did not answer within 1 ms/);
});
