import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { createStreamReader } from "../../src/queue/stream-reader.ts";
import {
  CONSUMER,
  createStreams,
  GROUP,
  isMissingGroup,
  partitionOf,
  partitionsOf,
  streamKey,
  toEntries,
} from "../../src/queue/streams.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { newId } from "../../src/runtime/ids.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import {
  createReaderFactory,
  openPatientRedis,
  openProducer,
  startRedisCluster,
} from "../fixtures/servers/redis.ts";
import { allocateRedisDatabase } from "../fixtures/servers/servers.ts";

const clientEnding = (byte: string) => randomUUID().slice(0, -2) + byte;
const refOf = (clientId: string) => ({ clientId, id: newId("msg") });

async function open(t: Test, url: string) {
  const config = readConfig({ ...unconnectedSettings(), REDIS_URL: url });
  const redis = openPatientRedis(t, config);
  const streams = createStreams(redis, partitionsOf(config));
  for (const { key } of streams.all) await streams.createGroup(key);
  const reader = (key: string) => {
    const created = createStreamReader(key, createReaderFactory(url), { block: 100, slack: 10_000 });
    t.teardown(() => created.close());
    return created;
  };
  return { redis, streams, reader };
}

const KINDS: Record<string, [(t: Test) => Promise<string>, number]> = {
  "one Redis": [allocateRedisDatabase, 1],
  "a Redis Cluster": [startRedisCluster, 8],
};

for (const [kind, [start, partitions]] of Object.entries(KINDS))
  t.test(`streams in ${kind}`, async (t) => {
    const { redis, streams, reader } = await open(t, await start(t));
    t.equal(streams.all.length, partitions);

    t.test("entries go to the stream of their client and are read in order", async (t) => {
      const refs = ["00", "09", "fa", "0b", "00"].map((byte) => refOf(clientEnding(byte)));
      await streams.add("outbound", refs);
      for (const { partition, key } of streams.all) {
        const here = refs.filter(({ clientId }) => partitionOf(clientId, partitions) === partition);
        t.equal(await streams.depth(key), here.length, key);
        const entries = await reader(key).read(10);
        t.match(entries, here);
        await streams.remove(key, entries);
        t.equal(await streams.depth(key), 0);
        t.match(await redis.xpending(key, GROUP), [0], "nothing is pending");
      }
    });

    t.test("entries that were read and not removed can be reclaimed after the idle time", async (t) => {
      const clientId = clientEnding("03");
      const key = streamKey("outbound", partitionOf(clientId, partitions));
      const refs = [1, 2, 3].map(() => refOf(clientId));
      await streams.add("outbound", refs);
      t.same(await streams.reclaim(key, { idle: 0, count: 10 }), [], "unread entries are not reclaimed");
      const [first] = await reader(key).read(10);
      t.same(
        await streams.reclaim(key, { idle: 60_000, count: 10 }),
        [],
        "recently read entries are not reclaimed",
      );
      t.match(await streams.reclaim(key, { idle: 0, count: 2 }), refs.slice(0, 2));
      await redis.xdel(key, first?.entryId as string);
      const left = await streams.reclaim(key, { idle: 0, count: 10 });
      t.match(left, refs.slice(1), "deleted entries are not returned");
      t.equal(left.length, 2);
      await streams.remove(key, left);
    });

    t.test("a group that Redis lost can be created again and reads from the first entry", async (t) => {
      const ref = refOf(clientEnding("05"));
      const key = streamKey("outbound", partitionOf(ref.clientId, partitions));
      await redis.flushdb();
      await streams.add("outbound", [ref]);
      const own = reader(key);
      await t.rejects(own.read(1).catch((error) => (isMissingGroup(error) ? Promise.reject(error) : [])));
      await Promise.all([streams.createGroup(key), streams.createGroup(key)]);
      await streams.createGroup(key);
      t.match(await own.read(1), [ref]);
    });

    t.test("the epoch changes only when any stream's epoch key is lost", async (t) => {
      const epoch = await streams.epoch();
      t.equal(await streams.epoch(), epoch);
      await redis.del(`${streams.all.at(-1)?.key}:epoch`);
      const [one, other] = await Promise.all([streams.epoch(), streams.epoch()]);
      t.not(one, epoch);
      t.equal(one, other);
      await redis.flushdb();
      t.not(await streams.epoch(), one);
    });

    t.test("add fails when Redis does not accept all entries", async (t) => {
      const [good, bad] = [refOf(clientEnding("00")), refOf(clientEnding("01"))];
      const key = streamKey("outbound", partitionOf(bad.clientId, partitions));
      await redis.del(key);
      await redis.set(key, "no stream");
      await t.rejects(streams.add("outbound", [good, bad]), /WRONGTYPE/);
      await redis.del(key);
    });
  });

t.test("every command fails immediately while Redis is unavailable", async (t) => {
  const streams = createStreams(openProducer(t), 8);
  await t.rejects(streams.add("outbound", [refOf(randomUUID())]));
  await t.rejects(streams.epoch());
  await t.rejects(streams.depth("{outbound:0}"));
});

t.test("all dispatchers share one consumer, and the stream's key is a hash tag", async (t) => {
  t.same([GROUP, CONSUMER, streamKey("outbound", 3)], ["herald", "dispatcher", "{outbound:3}"]);
});

t.test("a deleted entry and an entry with unknown fields name no row", async (t) => {
  t.same(toEntries(null), []);
  t.same(toEntries([["1-1", null]]), [{ entryId: "1-1", id: "", clientId: "" }]);
  t.same(toEntries([["1-1", ["x"]]]), [{ entryId: "1-1", id: "", clientId: "" }]);
});
