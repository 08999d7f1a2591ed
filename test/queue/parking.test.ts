import { randomUUID } from "node:crypto";
import t from "tap";
import { createParking } from "../../src/queue/parking.ts";
import { type EventLane, partitionOf } from "../../src/queue/streams.ts";
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
    const limits = { maxPerClient: 10, saturatedAt: 5 };
    const parking = createParking(openPatientRedis(t, config), partitions, limits);
    const park = (lane: EventLane, clientId: string, ids: readonly string[]) =>
      parking.park(lane, [{ clientId, ids }]);
    const pop = async (lane: EventLane, clientId: string, count: number) =>
      (await parking.pop(lane, [{ clientId, count }])).flatMap(({ ids }) => ids);

    t.test("parked deliveries leave in the order in which they came", async (t) => {
      const [clientId, all] = [randomUUID(), ids(5)];
      await park("events", clientId, all.slice(0, 2));
      await park("events", clientId, all.slice(2));
      t.same(await pop("events", clientId, 3), all.slice(0, 3));
      t.same(await pop("events", clientId, 100), all.slice(3));
      t.same(await pop("events", clientId, 100), []);
    });

    t.test("a client is saturated per lane", async (t) => {
      const [saturated, modest] = [randomUUID(), randomUUID()];
      await park("bulk", saturated, ids(5));
      await park("bulk", modest, ids(4));
      await park("events", modest, ids(5));
      t.same(await parking.saturatedClients("bulk"), [saturated]);
    });

    t.test("a client has a limited number of parked deliveries, each once", async (t) => {
      const [clientId, other, all] = [randomUUID(), randomUUID(), ids(13)];
      t.same(await park("events", clientId, all.slice(0, 8)), []);
      t.same(await park("events", clientId, all.slice(6)), all.slice(10), "those that do not fit");
      t.same(await park("events", clientId, all.slice(0, 10)), [], "those that are already parked");
      t.same(await park("events", other, all.slice(0, 1)), [], "another client has its own limit");
      t.same(await park("bulk", clientId, all.slice(0, 1)), [], "the other lane has its own limit");
      t.same(await pop("events", clientId, 20), all.slice(0, 10));
    });

    t.test("the deliveries of several clients are parked and taken out together", async (t) => {
      const clients = Array.from({ length: 5 }, () => ({ clientId: randomUUID(), ids: ids(3) }));
      await park("bulk", clients[0]?.clientId as string, ids(9));
      t.same(await parking.park("bulk", clients), clients[0]?.ids.slice(1), "those that do not fit");
      const popped = await parking.pop(
        "bulk",
        clients.slice(1).map(({ clientId }, index) => ({ clientId, count: index + 1 })),
      );
      const expected = clients
        .slice(1)
        .map(({ clientId, ids }, index) => ({ clientId, ids: ids.slice(0, index + 1) }));
      const sorted = (all: readonly { clientId: string }[]) =>
        [...all].sort((one, other) => (one.clientId < other.clientId ? -1 : 1));
      t.same(sorted(popped), sorted(expected));
    });

    t.test("a client is listed while it has parked deliveries", async (t) => {
      const clientId = randomUUID();
      const partition = partitionOf(clientId, partitions);
      const isNamed = async () => (await parking.clients("bulk", partition)).includes(clientId);
      const before = await parking.count("bulk", partition);
      t.equal(await isNamed(), false);
      await park("bulk", clientId, ids(3));
      await pop("bulk", clientId, 1);
      t.equal(await isNamed(), true);
      t.equal(await parking.count("bulk", partition), before + 2);
      await pop("bulk", clientId, 2);
      t.equal(await isNamed(), false);
      t.equal(await parking.count("bulk", partition), before);
    });
  });

t.test("parking fails immediately while Redis is unavailable", async (t) => {
  const parking = createParking(openProducer(t), 1);
  await t.rejects(parking.park("events", [{ clientId: randomUUID(), ids: ids(1) }]));
  await t.rejects(parking.pop("events", [{ clientId: randomUUID(), count: 1 }]));
});
