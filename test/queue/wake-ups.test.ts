import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { type EventDraft, recordEvents } from "../../src/domain/events/record-events.ts";
import { slotOf } from "../../src/queue/redis.ts";
import {
  countUnread,
  createEventNotifier,
  createWakeUpReader,
  notifyAfterCommit,
  taggedKey,
  tagOf,
  tagsOf,
} from "../../src/queue/wake-ups.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { openQueueContext, type QueueContext } from "../fixtures/events/queue-rows.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import {
  connectRedis,
  openPatientRedis,
  openProducer,
  openReadConnector,
} from "../fixtures/servers/redis.ts";
import { startOneNodeCluster } from "../fixtures/servers/redis-cluster.ts";
import { allocateRedisDatabase } from "../fixtures/servers/servers.ts";
import { startTcpProxy } from "../fixtures/servers/tcp-proxy.ts";
import { until } from "../fixtures/until.ts";

const ONE_TAG = [18];
const STREAM = "{18}:events";

for (const [kind, start, tagCount] of [
  ["one Redis", allocateRedisDatabase, 1],
  ["a Redis Cluster", startOneNodeCluster, 12],
] as const)
  t.test(`wake-ups in ${kind}`, async (t) => {
    const url = await start(t);
    const config = readConfig({ ...unconnectedSettings(), REDIS_URL: url });
    const redis = openPatientRedis(t, config);
    const tags = tagsOf(config);
    t.equal(tags.length, tagCount);
    const notifier = createEventNotifier(redis, tags);
    const connect = await openReadConnector(t, url);
    const reader = (tag: number) => {
      const created = createWakeUpReader(taggedKey(tag, "events"), connect);
      t.teardown(() => created.close());
      return created;
    };

    t.test("each client is named once per turn, in the stream of its tag", async (t) => {
      const clients = ["00", "05", "fa", "0b"].map((byte) => randomUUID().slice(0, -2) + byte);
      for (const id of [...clients, ...clients]) notifier.notify([id]);
      await notifier.close?.();
      for (const tag of tags) {
        const own = clients.filter((id) => tagOf(id, tags) === tag);
        t.equal(await redis.xlen(taggedKey(tag, "events")), own.length);
        if (own.length === 0) continue;
        const reading = reader(tag);
        await reading.read(10); // creates the group
        t.same((await reading.read(10)).flat(), own);
        t.equal(await countUnread(redis, taggedKey(tag, "events")), 0);
        t.match(
          await redis.xpending(taggedKey(tag, "events"), "herald"),
          [0],
          "nothing has to be acknowledged",
        );
      }
    });

    t.test("a reader creates a group that Redis lost and reads from the first entry", async (t) => {
      const clientId = `${randomUUID().slice(0, -2)}00`;
      const tag = tagOf(clientId, tags);
      const reading = reader(tag);
      await reading.read(1);
      await redis.del(taggedKey(tag, "events"));
      notifier.notify([clientId]);
      await notifier.close?.();
      t.equal(await countUnread(redis, taggedKey(tag, "events")), 1, "without a group");
      await reading.read(1);
      t.equal(await countUnread(redis, taggedKey(tag, "events")), 1);
      t.same(await reading.read(1), [[clientId]]);
    });
  });

t.test("clusters of 3, 4, 6 and 12 primaries with equal ranges get equal shares of the tags", async (t) => {
  const tags = tagsOf({ REDIS_URL: { cluster: true, nodes: [] } });
  const slots = tags.map((tag) => slotOf(taggedKey(tag, "events")));
  for (const primaries of [3, 4, 6, 12]) {
    const counts = new Array<number>(primaries).fill(0);
    for (const slot of slots) {
      const primary = Math.floor((slot * primaries) / 16_384);
      counts[primary] = (counts[primary] as number) + 1;
    }
    t.same(counts, new Array(primaries).fill(tags.length / primaries), `${primaries} primaries`);
  }
  const client = (byte: number) => `${randomUUID().slice(0, -2)}${byte.toString(16).padStart(2, "0")}`;
  const perTag = new Map<number, number>();
  for (let byte = 0; byte < 256; byte++) {
    const tag = tagOf(client(byte), tags);
    perTag.set(tag, (perTag.get(tag) ?? 0) + 1);
  }
  t.same([...perTag.keys()].sort(), [...tags].sort(), "each tag has clients");
  t.ok(
    [...perTag.values()].every((count) => count === 21 || count === 22),
    "and equally many",
  );
});

const drafts = ({ clientId }: QueueContext, count: number): EventDraft[] =>
  Array.from({ length: count }, () => ({ clientId, type: "message.received", key: "chatapp", data: {} }));

async function open(t: Test) {
  const redis = await connectRedis(t);
  return { context: await openQueueContext(t), redis, notifier: createEventNotifier(redis, ONE_TAG) };
}

t.test("a transaction that is repeated after a deadlock notifies once, after the commit", async (t) => {
  const { context, redis, notifier } = await open(t);
  let attempts = 0;
  await notifyAfterCommit({ db: context.db, notifier }, async (tx, deferredNotifier) => {
    await recordEvents(tx, drafts(context, 2), deferredNotifier);
    attempts += 1;
    if (attempts === 1) await tx.query("do $$ begin raise exception using errcode = '40P01'; end $$");
    t.equal(await redis.xlen(STREAM), 0, "no wake-up before the commit");
  });
  t.equal(attempts, 2);
  await until("the wake-up is in the stream", async () => (await redis.xlen(STREAM)) === 1);
});

t.test("close waits for the last wake-ups", async (t) => {
  const { context, redis, notifier } = await open(t);
  await recordEvents(context.db, drafts(context, 2), notifier);
  await notifier.close?.();
  t.equal(await redis.xlen(STREAM), 1);
});

t.test("a failed wake-up is ignored", async (t) => {
  const { context } = await open(t);
  const notifier = createEventNotifier(openProducer(t), ONE_TAG);
  t.match(await recordEvents(context.db, drafts(context, 1), notifier), [String]);
  await notifier.close?.();
});

t.test("the stream is trimmed, and its unread entries are counted", async (t) => {
  const { redis, notifier } = await open(t);
  await redis.xgroup("CREATE", STREAM, "herald", "0", "MKSTREAM");
  notifier.notify(Array.from({ length: 30_000 }, () => randomUUID()));
  await notifier.close?.();
  const length = await redis.xlen(STREAM);
  t.ok(length < 12_000);
  t.equal(await countUnread(redis, STREAM), length);
});

t.test("a read fails when its connection is closed, before its time is over", async (t) => {
  const proxy = await startTcpProxy(t, await allocateRedisDatabase());
  const reader = createWakeUpReader(STREAM, await openReadConnector(t, proxy.url));
  t.teardown(() => reader.close());
  t.same(await reader.read(1), [], "creates the group");
  const reading = reader.read(1);
  proxy.stop();
  const error = await reading.catch(({ message }: Error) => message);
  t.type(error, "string");
  t.notMatch(error, "did not end in time");
});
