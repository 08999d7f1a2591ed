import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { createQueueNotifier } from "../../src/queue/queue-notifier.ts";
import type { RedisClient } from "../../src/queue/redis.ts";
import { createStreams, type Streams } from "../../src/queue/streams.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { SendRef } from "../../src/store/messages/claim-sends.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { connectRedis, openProducer } from "../fixtures/servers/redis.ts";
import { until } from "../fixtures/until.ts";

interface Options {
  redis?: RedisClient;
  add?: Streams["add"];
  /** Wraps the read of the epoch, which the notifier repeats every 5 s. */
  epoch?: (real: Streams["epoch"]) => Promise<string>;
  readIsHeld?: () => Promise<boolean>;
  unmarkQueued?: (refs: readonly SendRef[]) => Promise<void>;
}

/** A started notifier, whose writes to Redis go through `add`. */
async function startNotifier(t: Test, options: Options = {}) {
  const redis = options.redis ?? (await connectRedis(t));
  const streams = createStreams(redis, 1);
  const writes: (readonly { id: string }[])[] = [];
  const add: Streams["add"] = (lane, refs) => {
    writes.push(refs);
    return (options.add ?? streams.add)(lane, refs);
  };
  const { epoch = (real) => real() } = options;
  const { log, events } = captureLog();
  const unmarked: string[] = [];
  const notifier = createQueueNotifier<SendRef>({
    redis,
    streams: { ...streams, add, epoch: () => epoch(streams.epoch) },
    unmarkQueued: options.unmarkQueued ?? (async (refs) => void unmarked.push(...refs.map(({ id }) => id))),
    readIsHeld: options.readIsHeld ?? (async () => false),
    log,
  });
  await notifier.start?.({ fail: (error) => t.fail(String(error)) });
  t.teardown(() => notifier.close?.());
  return { redis, streams, notifier, writes, unmarked, loggedEvents: events };
}

const newRef = (): SendRef => ({ clientId: randomUUID(), id: newId("msg"), channelId: newId("ch") });

t.test("messages that are accepted at the same moment share one write", async (t) => {
  const { streams, notifier, writes } = await startNotifier(t);
  const refs = [newRef(), newRef(), newRef()];
  for (const ref of refs) notifier.notify([ref]);
  notifier.notify([]);
  await until("the entries are in the stream", async () => (await streams.depth("{outbound:0}")) === 3);
  t.same(writes, [refs]);
  t.equal(notifier.epoch(), await streams.epoch());
});

t.test("close waits for a hanging write", async (t) => {
  let release = () => {};
  const hanging = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { notifier, writes } = await startNotifier(t, { add: () => hanging });
  notifier.notify([newRef()]);
  await until("the write has started", () => writes.length === 1);
  let isClosed = false;
  const closing = Promise.resolve(notifier.close?.()).then(() => {
    isClosed = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(isClosed, false);
  release();
  await closing;
});

t.test("rows that Redis rejects, and those that follow, are left to the sweep immediately", async (t) => {
  let isRefusing = false;
  const { redis, notifier, unmarked } = await startNotifier(t, {
    add: () => {
      isRefusing = true;
      return Promise.reject(new Error("OOM"));
    },
    epoch: (real) => (isRefusing ? Promise.reject(new Error("OOM")) : real()),
  });
  const known = notifier.epoch();
  t.type(known, "string");
  const ref = newRef();
  notifier.notify([ref]);
  await until("the row is unmarked", () => unmarked.includes(ref.id));
  t.equal(notifier.epoch(), null);
  isRefusing = false;
  redis.emit("ready");
  await until("the epoch is known again", () => notifier.epoch() === known);
});

t.test("a row that can be neither queued nor unmarked is logged", async (t) => {
  const { notifier, loggedEvents } = await startNotifier(t, {
    add: () => Promise.reject(new Error("gone")),
    unmarkQueued: () => Promise.reject(new Error("gone too")),
  });
  notifier.notify([newRef()]);
  await until("the failure is logged", () => loggedEvents().includes("queue.unmark_failed"));
});

t.test("the notifier has no epoch while Redis is unavailable or the queue is held", async (t) => {
  const { notifier } = await startNotifier(t, { redis: openProducer(t) });
  t.equal(notifier.epoch(), null);
  const held = await startNotifier(t, { readIsHeld: async () => true });
  await until("the notifier has read the hold", () => held.notifier.epoch() === null);
});
