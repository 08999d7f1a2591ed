import type { Test } from "tap";
import t from "tap";
import { createHolds } from "../../src/queue/holds.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import { openPatientRedis, openProducer } from "../fixtures/servers/redis.ts";
import { allocateRedisDatabase } from "../fixtures/servers/servers.ts";
import { until } from "../fixtures/until.ts";

const configWith = (REDIS_URL: string) => readConfig({ ...unconnectedSettings(), REDIS_URL });

const openHolds = (t: Test, url: string) => createHolds(openPatientRedis(t, configWith(url)));

t.test("a hold of one process holds in all processes", async (t) => {
  const url = await allocateRedisDatabase();
  const [one, other] = [openHolds(t, url), openHolds(t, url)];
  await one.hold("asset:1", 60_000);
  for (const holds of [one, other]) {
    const remaining = await holds.remaining(["app", "asset:1", "asset:1:ads_insights"]);
    t.ok(remaining > 50_000 && remaining <= 60_000);
    t.equal(await holds.remaining(["app", "asset:2"]), 0);
  }
});

t.test("the longest hold counts, over several keys and for one key", async (t) => {
  const holds = openHolds(t, await allocateRedisDatabase());
  await holds.hold("app", 1_000);
  await holds.hold("asset:1", 90_000);
  t.ok((await holds.remaining(["app", "asset:1"])) > 80_000);
  await holds.hold("asset:1", 30_000);
  t.ok((await holds.remaining(["asset:1"])) > 80_000);
  await holds.hold("asset:1", 120_000);
  t.ok((await holds.remaining(["asset:1"])) > 110_000);
});

t.test("a hold ends after its time", async (t) => {
  const holds = openHolds(t, await allocateRedisDatabase());
  const startedAt = performance.now();
  await holds.hold("app", 200);
  await until("the key is free again", async () => (await holds.remaining(["app"])) === 0);
  t.ok(performance.now() - startedAt >= 195, "not before, apart from the rounding of the two clocks");
});

t.test("a process keeps its own holds without Redis", async (t) => {
  const holds = createHolds(openProducer(t));
  t.equal(await holds.remaining(["app"]), 0);
  await holds.hold("app", 60_000);
  t.ok((await holds.remaining(["app"])) > 50_000);
});
