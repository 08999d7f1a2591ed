import t, { type Test } from "tap";
import { type EventDraft, recordEvents } from "../../src/domain/events/record-events.ts";
import { createQueueNotifier, notifyAfterCommit } from "../../src/queue/queue-notifier.ts";
import type { RedisClient } from "../../src/queue/redis.ts";
import { createStreams, type Streams } from "../../src/queue/streams.ts";
import type { DeliveryRef } from "../../src/store/events/delivery-refs.ts";
import { unmarkQueued } from "../../src/store/events/sweep-deliveries.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { readDelivery } from "../fixtures/events/events.ts";
import { openQueueContext, type QueueContext } from "../fixtures/events/queue-rows.ts";
import { connectRedis, openProducer } from "../fixtures/servers/redis.ts";
import { until } from "../fixtures/until.ts";

interface Options {
  redis?: RedisClient;
  add?: Streams["add"];
  /** Wraps the read of the epoch, which the notifier repeats every 5 s. */
  epoch?: (real: Streams["epoch"]) => Promise<string>;
  readIsHeld?: () => Promise<boolean>;
}

/** A started notifier, whose writes to Redis go through `add`. */
async function startNotifier(t: Test, options: Options = {}) {
  const context = await openQueueContext(t);
  const redis = options.redis ?? (await connectRedis(t));
  const streams = createStreams(redis, 1);
  const writes: (readonly DeliveryRef[])[] = [];
  const add: Streams["add"] = (lane, refs) => {
    writes.push(refs);
    return (options.add ?? streams.add)(lane, refs);
  };
  const { epoch = (real) => real() } = options;
  const { log, events } = captureLog();
  const notifier = createQueueNotifier({
    redis,
    streams: { ...streams, add, epoch: () => epoch(streams.epoch) },
    lane: "events",
    unmarkQueued: (refs) => unmarkQueued(context.db, refs),
    readIsHeld: options.readIsHeld ?? (async () => false),
    log,
  });
  await notifier.start?.({ fail: (error) => t.fail(String(error)) });
  t.teardown(() => notifier.close?.());
  const record = (count: number) =>
    recordEvents(context.db, drafts(context, count), notifier) as Promise<string[]>;
  return { context, redis, streams, notifier, writes, record, loggedEvents: events };
}

const drafts = ({ clientId }: QueueContext, count: number): EventDraft[] =>
  Array.from({ length: count }, () => ({ clientId, type: "message.received", key: "chatapp", data: {} }));

t.test("events that are recorded at the same moment share one write", async (t) => {
  const { context, streams, notifier, writes, record } = await startNotifier(t);
  const ids = await record(3);
  for (const id of ids) notifier.notify([{ clientId: context.clientId, id }]);
  notifier.notify([]);
  await until("the entries are in the stream", async () => (await streams.depth("{events:0}")) === 6);
  t.same(
    writes.map((refs) => refs.map(({ id }) => id)),
    [[...ids, ...ids]],
  );
  const row = await readDelivery(context, ids[0] as string);
  t.match(row, { queue_epoch: await streams.epoch(), enqueued_at: Date });
});

t.test("recording does not wait for a hanging write, and close does", async (t) => {
  let release = () => {};
  const hanging = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { notifier, record, writes } = await startNotifier(t, { add: () => hanging });
  t.equal((await record(1)).length, 1);
  await until("the write has started", () => writes.length === 1);
  let isClosed = false;
  const closing = Promise.resolve(notifier.close?.()).then(() => {
    isClosed = true;
  });
  t.equal((await record(1)).length, 1);
  t.equal(isClosed, false, "close waits for the write");
  release();
  await closing;
});

t.test("a transaction that is repeated after a deadlock notifies once, of the committed rows", async (t) => {
  const { context, notifier, writes } = await startNotifier(t);
  let attempts = 0;
  const ids = await notifyAfterCommit({ db: context.db, notifier }, async (tx, deferredNotifier) => {
    const recorded = await recordEvents(tx, drafts(context, 2), deferredNotifier);
    attempts += 1;
    if (attempts === 1) await tx.query("do $$ begin raise exception using errcode = '40P01'; end $$");
    t.same(writes, [], "no write before the commit");
    return recorded;
  });
  t.equal(attempts, 2);
  await until("the write has started", () => writes.length === 1);
  t.same(
    writes.map((refs) => refs.map(({ id }) => id)),
    [ids],
  );
});

t.test("close waits until the last recorded events are in the stream", async (t) => {
  const { notifier, record, streams } = await startNotifier(t);
  await record(2);
  await notifier.close?.();
  t.equal(await streams.depth("{events:0}"), 2);
});

t.test("rows that Redis rejects, and those that follow, are left to the sweep immediately", async (t) => {
  let isRefusing = false;
  const { context, redis, notifier, record } = await startNotifier(t, {
    add: () => {
      isRefusing = true;
      return Promise.reject(new Error("OOM"));
    },
    epoch: (real) => (isRefusing ? Promise.reject(new Error("OOM")) : real()),
  });
  const known = notifier.epoch();
  t.type(known, "string");
  const [first] = (await record(1)) as [string];
  const isNotQueued = async () => (await readDelivery(context, first)).enqueued_at === null;
  await until("the row is unmarked", isNotQueued);
  t.equal(notifier.epoch(), null);
  const [second] = (await record(1)) as [string];
  t.match(await readDelivery(context, second), { state: "pending", enqueued_at: null, queue_epoch: null });
  isRefusing = false;
  redis.emit("ready");
  await until("the epoch is known again", () => notifier.epoch() === known);
});

t.test("a row that can be neither queued nor unmarked is logged", async (t) => {
  const { context, notifier, loggedEvents, writes } = await startNotifier(t, {
    add: () => Promise.reject(new Error("gone")),
  });
  await context.db.query("alter table deliveries rename to hidden");
  notifier.notify([{ clientId: context.clientId, id: "evt_0" }]);
  await until("the failure is logged", () => loggedEvents().includes("queue.unmark_failed"));
  t.equal(writes.length, 1);
});

t.test("events are recorded as not queued while Redis is unavailable", async (t) => {
  const { context, notifier, record, writes } = await startNotifier(t, { redis: openProducer(t) });
  t.equal(notifier.epoch(), null);
  const [id] = (await record(1)) as [string];
  t.match(await readDelivery(context, id), { state: "pending", enqueued_at: null });
  t.equal(writes.length, 0);
});

t.test("while the queue is held, new events are left to the sweep and no stream grows", async (t) => {
  const { context, streams, notifier, writes, record } = await startNotifier(t, {
    readIsHeld: async () => true,
  });
  await until("the notifier has read the hold", () => notifier.epoch() === null);
  const [id = ""] = await record(1);
  t.same(writes, []);
  t.equal(await streams.depth("{events:0}"), 0);
  t.match(await readDelivery(context, id), { state: "pending", enqueued_at: null });
});
