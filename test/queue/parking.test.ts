import { randomUUID } from "node:crypto";
import t from "tap";
import { createParking } from "../../src/queue/parking.ts";
import { partitionOf } from "../../src/queue/streams.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { newId } from "../../src/runtime/ids.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import { openPatientRedis, openProducer, startRedisCluster } from "../fixtures/servers/redis.ts";
import { allocateRedisDatabase } from "../fixtures/servers/servers.ts";

const ids = (count: number) => Array.from({ length: count }, () => newId("evt"));

for (const [kind, start, partitions] of [
  ["one Redis", allocateRedisDatabase, 1],
  ["a Redis Cluster", startRedisCluster, 8],
] as const)
  t.test(`parking in ${kind}`, async (t) => {
    const config = readConfig({ ...unconnectedSettings(), REDIS_URL: await start(t) });
    const parking = createParking(openPatientRedis(t, config), partitions);

    t.test("parked deliveries leave in the order in which they came", async (t) => {
      const [clientId, all] = [randomUUID(), ids(5)];
      await parking.park("events", clientId, all.slice(0, 2));
      await parking.park("events", clientId, all.slice(2));
      t.same(await parking.pop("events", clientId, 3), all.slice(0, 3));
      t.same(await parking.pop("events", clientId, 100), all.slice(3));
      t.same(await parking.pop("events", clientId, 100), []);
    });

    t.test("a client is saturated per lane, with 500 parked deliveries", async (t) => {
      const [saturated, modest] = [randomUUID(), randomUUID()];
      await parking.park("bulk", saturated, ids(500));
      await parking.park("bulk", modest, ids(499));
      await parking.park("events", modest, ids(500));
      t.same(await parking.saturatedClients("bulk"), [saturated]);
    });

    t.test("a client has at most 1,000 parked deliveries, each once", async (t) => {
      const [clientId, other, all] = [randomUUID(), randomUUID(), ids(1_003)];
      t.same(await parking.park("events", clientId, all.slice(0, 998)), []);
      t.same(
        await parking.park("events", clientId, all.slice(900)),
        all.slice(1_000),
        "those that do not fit",
      );
      t.same(await parking.park("events", clientId, all.slice(0, 10)), [], "those that are already parked");
      t.same(await parking.park("events", other, all.slice(0, 1)), [], "another client has its own limit");
      t.same(await parking.park("bulk", clientId, all.slice(0, 1)), [], "the other lane has its own limit");
      t.same(await parking.pop("events", clientId, 2_000), all.slice(0, 1_000));
    });

    t.test("a client is listed while it has parked deliveries", async (t) => {
      const clientId = randomUUID();
      const partition = partitionOf(clientId, partitions);
      const isNamed = async () => (await parking.clients("bulk", partition)).includes(clientId);
      const before = await parking.count("bulk", partition);
      t.equal(await isNamed(), false);
      await parking.park("bulk", clientId, ids(3));
      await parking.pop("bulk", clientId, 1);
      t.equal(await isNamed(), true);
      t.equal(await parking.count("bulk", partition), before + 2);
      await parking.pop("bulk", clientId, 2);
      t.equal(await isNamed(), false);
      t.equal(await parking.count("bulk", partition), before);
    });
  });

t.test("parking fails immediately while Redis is unavailable", async (t) => {
  const parking = createParking(openProducer(t), 1);
  await t.rejects(parking.park("events", randomUUID(), ids(1)));
  await t.rejects(parking.pop("events", randomUUID(), 1));
});
