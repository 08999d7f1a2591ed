import type { Test } from "tap";
import t from "tap";
import { createPauses } from "../../src/queue/platform-pauses.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import { openPatientRedis, openProducer } from "../fixtures/servers/redis.ts";
import { allocateRedisDatabase } from "../fixtures/servers/servers.ts";
import { until } from "../fixtures/until.ts";

const configWith = (REDIS_URL: string) => readConfig({ ...unconnectedSettings(), REDIS_URL });

const openPauses = (t: Test, url: string) => createPauses(openPatientRedis(t, configWith(url)));

t.test("a pause of one process counts in all processes", async (t) => {
  const url = await allocateRedisDatabase();
  const [one, other] = [openPauses(t, url), openPauses(t, url)];
  await one.pause("asset:1", 60_000);
  for (const pauses of [one, other]) {
    const remaining = await pauses.remaining(["app", "asset:1", "asset:1:ads_insights"]);
    t.ok(remaining > 50_000 && remaining <= 60_000);
    t.equal(await pauses.remaining(["app", "asset:2"]), 0);
  }
});

t.test("the longest pause counts, over several keys and for one key", async (t) => {
  const pauses = openPauses(t, await allocateRedisDatabase());
  await pauses.pause("app", 1_000);
  await pauses.pause("asset:1", 90_000);
  t.ok((await pauses.remaining(["app", "asset:1"])) > 80_000);
  await pauses.pause("asset:1", 30_000);
  t.ok((await pauses.remaining(["asset:1"])) > 80_000);
  await pauses.pause("asset:1", 120_000);
  t.ok((await pauses.remaining(["asset:1"])) > 110_000);
});

t.test("a pause ends after its time", async (t) => {
  const pauses = openPauses(t, await allocateRedisDatabase());
  const startedAt = performance.now();
  await pauses.pause("app", 200);
  await until("the key is free again", async () => (await pauses.remaining(["app"])) === 0);
  t.ok(performance.now() - startedAt >= 195, "not before, apart from the rounding of the two clocks");
});

t.test("a process keeps its own pauses without Redis", async (t) => {
  const pauses = createPauses(openProducer(t));
  t.equal(await pauses.remaining(["app"]), 0);
  await pauses.pause("app", 60_000);
  t.ok((await pauses.remaining(["app"])) > 50_000);
});
