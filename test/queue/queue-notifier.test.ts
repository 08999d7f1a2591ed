import t, { type Test } from "tap";
import { type EventDraft, recordEvents } from "../../src/domain/events/record-events.ts";
import { createQueueNotifier } from "../../src/queue/queue-notifier.ts";
import type { RedisClient } from "../../src/queue/redis.ts";
import { createStreams, type Streams } from "../../src/queue/streams.ts";
import type { DeliveryRef } from "../../src/store/events/delivery-refs.ts";
import { unqueue } from "../../src/store/events/sweep-deliveries.ts";
import { keptLog } from "../fixtures/captured-log.ts";
import { deliveryOf } from "../fixtures/events/events.ts";
import { openQueue, type QueueGround } from "../fixtures/events/queue-rows.ts";
import { connectedRedis, producer } from "../fixtures/servers/redis.ts";
import { until } from "../fixtures/until.ts";

interface Options {
  redis?: RedisClient;
  add?: Streams["add"];
}

/** A doorbell that has started; what it gives to Redis goes through `add`. */
async function hang(t: Test, options: Options = {}) {
  const ground = await openQueue(t);
  const redis = options.redis ?? (await connectedRedis(t));
  const streams = createStreams(redis, 1);
  const writes: (readonly DeliveryRef[])[] = [];
  const add: Streams["add"] = (lane, refs) => {
    writes.push(refs);
    return (options.add ?? streams.add)(lane, refs);
  };
  const { log, events } = keptLog();
  const doorbell = createQueueNotifier({
    redis,
    streams: { ...streams, add },
    lane: "events",
    unqueue: (refs) => unqueue(ground.db, refs),
    log,
  });
  await doorbell.start?.({ fail: (error) => t.fail(String(error)) });
  t.teardown(() => doorbell.close?.());
  const record = (count: number) => recordEvents(ground.db, drafts(ground, count), doorbell);
  return { ground, redis, streams, doorbell, writes, record, said: events };
}

const drafts = ({ clientId }: QueueGround, count: number): EventDraft[] =>
  Array.from({ length: count }, () => ({ clientId, type: "message.received", key: "chatapp", data: {} }));

t.test("what is recorded in the same moment is told in one write", async (t) => {
  const { ground, streams, doorbell, writes, record } = await hang(t);
  const ids = await record(3);
  for (const id of ids) doorbell.notify([{ clientId: ground.clientId, id }]);
  doorbell.notify([]);
  await until("it is in the stream", async () => (await streams.depth("{events:0}")) === 6);
  t.same(
    writes.map((refs) => refs.map(({ id }) => id)),
    [[...ids, ...ids]],
  );
  const row = await deliveryOf(ground, ids[0] as string);
  t.match(row, { queue_epoch: await streams.epoch(), enqueued_at: Date });
});

t.test("nobody waits for it: neither who records, nor who rings", async (t) => {
  let release = () => {};
  const hanging = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { doorbell, record, writes } = await hang(t, { add: () => hanging });
  t.equal((await record(1)).length, 1);
  await until("it rings", () => writes.length === 1);
  let isClosed = false;
  const closing = Promise.resolve(doorbell.close?.()).then(() => {
    isClosed = true;
  });
  t.equal((await record(1)).length, 1);
  t.equal(isClosed, false, "but who ends lets it come to its end");
  release();
  await closing;
});

t.test("who ends tells first what was recorded last", async (t) => {
  const { doorbell, record, streams } = await hang(t);
  await record(2);
  await doorbell.close?.();
  t.equal(await streams.depth("{events:0}"), 2);
});

t.test("what Redis does not take is the sweeper's at once, and so is what follows", async (t) => {
  const { ground, redis, doorbell, record } = await hang(t, { add: () => Promise.reject(new Error("OOM")) });
  const known = doorbell.epoch();
  t.type(known, "string");
  const [first] = (await record(1)) as [string];
  const isNotQueued = async () => (await deliveryOf(ground, first)).enqueued_at === null;
  await until("it is taken back", isNotQueued);
  t.equal(doorbell.epoch(), null);
  const [second] = (await record(1)) as [string];
  t.match(await deliveryOf(ground, second), { state: "pending", enqueued_at: null, queue_epoch: null });
  redis.emit("ready");
  await until("Redis is back", () => doorbell.epoch() === known);
});

t.test(
  "what can be given neither to Redis nor back is said, and left until it counts as stranded",
  async (t) => {
    const { ground, doorbell, said, writes } = await hang(t, {
      add: () => Promise.reject(new Error("gone")),
    });
    await ground.db.query("alter table deliveries rename to hidden");
    doorbell.notify([{ clientId: ground.clientId, id: "evt_0" }]);
    await until("it is said", () => said().includes("doorbell.not_taken_back"));
    t.equal(writes.length, 1);
  },
);

t.test("while Redis is away events are recorded as in no queue", async (t) => {
  const { ground, doorbell, record, writes } = await hang(t, { redis: producer(t) });
  t.equal(doorbell.epoch(), null);
  const [id] = (await record(1)) as [string];
  t.match(await deliveryOf(ground, id), { state: "pending", enqueued_at: null });
  t.equal(writes.length, 0);
});
