import t, { type Test } from "tap";
import { type ChannelRef, listLimitedChannels, type RateKey, type Rates } from "../../src/queue/rates.ts";
import type { RedisClient } from "../../src/queue/redis.ts";
import { pause } from "../../src/runtime/async/timeouts-and-retries.ts";
import {
  ALL,
  CLIENTS,
  createDispatcher,
  newChannel,
  openOldRedis,
  TAGS,
  takeOne,
  type Use,
  withScripts,
  worstExcess,
} from "../fixtures/messages/rates.ts";
import { connectRedis } from "../fixtures/servers/redis.ts";
import { allocateRedisDatabase } from "../fixtures/servers/servers.ts";
import { until } from "../fixtures/until.ts";

const keyOf = ({ channelId }: ChannelRef) => `{18}:rate:${channelId}`;

async function redisTime(redis: RedisClient): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}

/** Asserts a number of tokens that may be larger by those of the time since `startedAt`. */
function checkTokens(
  t: Test,
  granted: number,
  { least, startedAt, perSecond }: { least: number; startedAt: number; perSecond: number },
): void {
  const most = least + Math.ceil(((performance.now() - startedAt) * perSecond) / 1_000);
  t.ok(granted >= least && granted <= most, `${granted} tokens, expected ${least} to ${most}`);
}

t.test("all dispatchers share a bucket of 0.9 s, which gets a token per interval", async (t) => {
  const redis = await openOldRedis(t);
  const [one, other] = [
    createDispatcher(redis, { perSecond: 10 }),
    createDispatcher(redis, { perSecond: 10 }),
  ];
  const channel = newChannel();
  const startedAt = performance.now();
  t.equal(await one.takeOne(channel, 5), 5);
  t.equal(one.sleepOf(channel), 0, "the answer left some");
  let granted = 5 + (await other.takeOne(channel));
  checkTokens(t, granted, { least: 9, startedAt, perSecond: 10 });
  const [stored, ttl, time] = [
    await redis.get(keyOf(channel)),
    await redis.pttl(keyOf(channel)),
    await redisTime(redis),
  ];
  t.match(stored, /^\d+\.\d{3}$/);
  t.ok(Number(stored) <= time + 900 && ttl <= 900, "it is full again within its capacity, and expires then");
  await until("further tokens are granted", async () => {
    granted += await one.takeOne(channel, 1);
    return granted >= 12;
  });
  const elapsedMs = performance.now() - startedAt;
  t.ok(elapsedMs >= 300 - 1, `three more tokens after ${elapsedMs} ms`);
  await redis.set(keyOf(channel), ((await redisTime(redis)) + 3_600_000).toFixed(3));
  t.equal(await one.takeOne(channel), 0);
  await until("a bucket is usable after the clock was set back", () => one.takeOne(channel, 1));
});

t.test("a call takes the tokens of many channels with one script per tag", async (t) => {
  const redis = await openOldRedis(t);
  const tags: string[] = [];
  const counted = withScripts(redis, (_script, _count, since) => tags.push(String(since)));
  const { take } = createDispatcher(counted, { perSecond: 2 });
  const [a, b, c] = [newChannel(), newChannel(CLIENTS[1]), newChannel()] as const;
  const startedAt = performance.now();
  const [first, ofOtherTag, none, second] = await take(
    [a, b, c, a].map((channel) => ({ ...channel, perSecond: null, count: channel === c ? 0 : 1 })),
  );
  t.same([first, ofOtherTag, none], [1, 1, 0]);
  checkTokens(t, second as number, { least: 0, startedAt, perSecond: 2 });
  t.same(tags, ["{18}:since", "{32}:since"]);
  t.same(await take([]), []);
});

t.test("unused tokens are returned before the next take of the process", async (t) => {
  const redis = await openOldRedis(t);
  const scripts: string[] = [];
  const counted = withScripts(redis, (script) =>
    scripts.push(String(script).includes("latest") ? "give" : "take"),
  );
  const { takeOne, give } = createDispatcher(counted, { perSecond: 10 });
  // A GIVE that is late on a busy machine returns nothing.
  await until("tokens are returned", async () => {
    const channel = newChannel();
    scripts.length = 0;
    const startedAt = performance.now();
    const taken = await takeOne(channel);
    give(channel, 3);
    give(channel, 1);
    const again = await takeOne(channel);
    t.same(scripts, ["take", "give", "take"]);
    t.ok(taken + again <= 9 + 4 + Math.ceil((performance.now() - startedAt) / 100));
    return again >= 4;
  });
});

t.test("a bucket never holds more than its capacity, and a missing one gets nothing", async (t) => {
  const redis = await openOldRedis(t);
  const { takeOne, give } = createDispatcher(redis, { perSecond: 10 });
  const [channel, lost] = [newChannel(), newChannel()];
  t.equal(await takeOne(channel, 1), 1);
  give(channel, 8);
  t.ok((await takeOne(channel)) <= 9);
  t.equal(await takeOne(lost, 5), 5);
  await redis.del(keyOf(lost));
  give(lost, 5);
  await takeOne(channel, 0); // its answer comes after that of the GIVE
  t.equal(await redis.get(keyOf(lost)), null);
});

for (const restMs of [75, 0])
  t.test(
    `tokens returned ${restMs} ms before the bucket is full again add only those of that time`,
    async (t) => {
      const redis = await openOldRedis(t);
      const perSecond = 200;
      const [one, other] = [createDispatcher(redis, { perSecond }), createDispatcher(redis, { perSecond })];
      const channel = newChannel();
      t.equal(await one.takeOne(channel, 30), 30);
      await until("the bucket is nearly full", async () => (await redis.pttl(keyOf(channel))) <= restMs);
      const startedAt = performance.now();
      const granted = await other.takeOne(channel);
      one.give(channel, 15);
      await new Promise((resolve) => setImmediate(resolve));
      one.give(channel, 15);
      const again = await one.takeOne(channel);
      const most = 180 + Math.ceil(((performance.now() - startedAt) * perSecond) / 1_000);
      t.ok(granted + again <= most, `${granted} and ${again} tokens, at most ${most}`);
    },
  );

t.test("a give that the client repeats after a lost connection returns nothing", async (t) => {
  const redis = await openOldRedis(t);
  const perSecond = 100;
  const repeats: Promise<unknown>[] = [];
  const repeating = withScripts(redis, (...args) => {
    if (!String(args[0]).includes("latest")) return;
    repeats.push(pause(100).then(() => redis.eval(...args)));
  });
  const { takeOne, give } = createDispatcher(repeating, { perSecond });
  const channel = newChannel();
  const startedAt = performance.now();
  const taken = await takeOne(channel);
  give(channel, 40);
  await until("the give is repeated", () => repeats.length > 0);
  await Promise.all(repeats);
  const granted = taken + (await takeOne(channel));
  const most = 90 + 40 + Math.ceil(((performance.now() - startedAt) * perSecond) / 1_000);
  t.ok(granted <= most, `${granted} tokens, at most ${most}`);
});

t.test("an empty channel sleeps until the tokens of 50 ms are there, or some are returned", async (t) => {
  const redis = await openOldRedis(t);
  const now = () => 0; // the clock of the sleep stands still: a busy machine does not end it
  const { takeOne, give, sleepOf } = createDispatcher(redis, { perSecond: 100, now });
  const channel = newChannel();
  t.equal(sleepOf(channel), 0);
  await takeOne(channel);
  const sleepMs = sleepOf(channel);
  t.ok(sleepMs > 40 && sleepMs <= 50, `${sleepMs} ms`);
  give(channel, 3);
  t.ok(Math.abs(sleepOf(channel) - (sleepMs - 30)) < 0.001);
  give(channel, 2);
  t.equal(sleepOf(channel), 0);
  const slow = createDispatcher(redis, { perSecond: 2, now });
  const slowChannel = newChannel();
  await slow.takeOne(slowChannel);
  const slowSleepMs = slow.sleepOf(slowChannel);
  t.ok(slowSleepMs > 50 && slowSleepMs <= 500, `until one token is there: ${slowSleepMs} ms`);
});

t.test("after its sleep a channel gets the tokens of 50 ms", async (t) => {
  const redis = await openOldRedis(t);
  const { takeOne, sleepOf } = createDispatcher(redis, { perSecond: 100 });
  const channel = newChannel();
  await takeOne(channel);
  await until("the sleep ends", () => sleepOf(channel) === 0);
  const granted = await takeOne(channel);
  t.ok(granted >= 5, `${granted} tokens`);
});

t.test("buckets are empty when Redis begins, also after it lost its data", async (t) => {
  const redis = await connectRedis(t);
  const perSecond = 10;
  const [one, other] = [createDispatcher(redis, { perSecond }), createDispatcher(redis, { perSecond })];
  for (const life of ["first", "second"]) {
    const startedAt = performance.now();
    checkTokens(t, await one.takeOne(newChannel()), { least: 0, startedAt, perSecond });
    const since = Number(await redis.get("{18}:since"));
    t.equal(await redis.ttl("{18}:since"), -1, "it does not expire");
    t.ok(Math.abs((await redisTime(redis)) - since) <= performance.now() - startedAt + 1, `${life} life`);
    await until("an unused channel has a token", () => other.takeOne(newChannel(), 1));
    t.ok(performance.now() - startedAt >= 99);
    t.equal(Number(await redis.get("{18}:since")), since);
    await redis.set("{18}:since", since - 900);
    checkTokens(t, await one.takeOne(newChannel()), { least: 9, startedAt, perSecond });
    await redis.flushdb();
  }
});

t.test("without Redis a dispatcher has its share of the rate, and starts with nothing", async (t) => {
  const redis = await openOldRedis(t);
  let time = 1_000;
  const now = () => time;
  const { takeOne, give, sleepOf, view } = createDispatcher(redis, { perSecond: 100, dispatchers: 2, now });
  const [channel, unused] = [newChannel(), newChannel()];
  t.equal(await takeOne(channel, 10), 10);
  view.isWritable = false;
  t.equal(await takeOne(channel), 0);
  t.equal(sleepOf(channel), 40, "until the tokens of 50 ms");
  time += 100;
  t.equal(sleepOf(channel), 0);
  t.equal(await takeOne(channel), 5);
  give(channel, 3);
  t.equal(sleepOf(channel), 0);
  t.equal(await takeOne(channel), 3);
  time += 60;
  t.equal(await takeOne(unused), 8, "an unused channel started empty too");
  time += 10_000;
  t.equal(await takeOne(channel, 1), 1);
  give(channel, 45);
  t.equal(await takeOne(channel), 45, "at most 0.9 s");
  t.equal(await takeOne(unused), 45);
});

t.test("a share of less than a token per second is granted as one token per interval", async (t) => {
  let time = 0;
  const redis = await connectRedis(t);
  const { takeOne, view, sleepOf } = createDispatcher(redis, {
    perSecond: 1,
    dispatchers: 4,
    now: () => time,
  });
  const channel = newChannel();
  view.isWritable = false;
  const granted: number[] = [];
  for (; time <= 9_000; time += 500) granted.push(await takeOne(channel));
  t.same(granted, [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
  t.equal(sleepOf(channel), 2_500);
  time += 60_000;
  t.equal(await takeOne(channel), 1);
});

t.test("after two failed takes the tag is local for a second, the other tags are not", async (t) => {
  const redis = await openOldRedis(t);
  let time = 0;
  let isFailing = true;
  const asked: string[] = [];
  const failing = withScripts(redis, (_script, _count, since) => {
    asked.push(String(since));
    if (isFailing && since === "{18}:since") throw new Error("Command timed out");
  });
  const { take, takeOne, sleepOf } = createDispatcher(failing, { perSecond: 10, now: () => time });
  const [channel, otherTag] = [newChannel(), newChannel(CLIENTS[1])];
  t.same(await take([channel, otherTag].map((each) => ({ ...each, perSecond: null, count: 9 }))), [0, 9]);
  t.same(asked.splice(0), ["{18}:since", "{32}:since"]);
  time = 249;
  t.equal(await takeOne(channel), 0, "the first failure may be that of this process alone");
  t.equal(sleepOf(channel), 1);
  t.same(asked, [], "Redis is not asked");
  time = 250;
  t.equal(await takeOne(channel, 3), 0, "the local bucket is empty");
  t.same(asked.splice(0), ["{18}:since"]);
  time = 1_249;
  t.equal(await takeOne(channel, 3), 3);
  t.same(asked, [], "Redis is not asked");
  time = 1_250;
  t.equal(await takeOne(channel, 3), 3, "a failure while local does not empty the local bucket");
  t.same(asked.splice(0), ["{18}:since"]);
  isFailing = false;
  time = 2_750;
  t.equal(await takeOne(channel, 3), 3, "from Redis");
  t.same(asked, ["{18}:since"]);
  t.ok(await redis.get(keyOf(channel)));
});

t.test("buckets in Redis count as empty when local ones were last used", async (t) => {
  const redis = await openOldRedis(t);
  const perSecond = 10;
  let time = 0;
  const now = () => time;
  const [one, other] = [createDispatcher(redis, { perSecond, now }), createDispatcher(redis, { perSecond })];
  const [channel, next] = [newChannel(), newChannel()];
  one.view.isWritable = false;
  t.equal(await one.takeOne(channel), 0);
  time = 1_000;
  t.equal(await one.takeOne(channel), 9);
  one.view.isWritable = true;
  const startedAt = performance.now();
  t.equal(await one.takeOne(channel), 0, "its local bucket is empty too");
  checkTokens(t, await other.takeOne(channel), { least: 0, startedAt, perSecond });
  time = 1_500;
  t.equal(await one.takeOne(next, 6), 5, "the tokens of half a second");
  time = 1_900;
  t.equal(await one.takeOne(newChannel()), 9, "after the capacity all is as before");
});

t.test("a dispatcher that returns to Redis keeps to its share while others may be local", async (t) => {
  const redis = await openOldRedis(t);
  let time = 0;
  const { takeOne, view } = createDispatcher(redis, { perSecond: 10, dispatchers: 3, now: () => time });
  const other = createDispatcher(redis, { perSecond: 10 });
  view.isWritable = false;
  await takeOne(newChannel());
  view.isWritable = true;
  time = 1_000;
  t.equal(await takeOne(newChannel()), 3);
  const channel = newChannel();
  await other.takeOne(channel);
  const granted = await takeOne(channel);
  await redis.del(keyOf(channel));
  t.equal(granted + (await takeOne(channel)), 3, "tokens that Redis refused stay in the share");
  time = 8_999;
  t.equal(await takeOne(newChannel()), 3);
  time = 9_000;
  t.equal(await takeOne(newChannel()), 9);
});

/** Takes tokens of one channel until it is stopped, and returns some of them after a moment. */
function useTokens(rates: Rates, channel: RateKey, { givesBack }: { givesBack: boolean }) {
  const uses: Use[] = [];
  let isStopped = false;
  async function run(): Promise<void> {
    for (let turn = 0; !isStopped; turn++) {
      const startedAt = performance.now();
      const count = await takeOne(rates, channel, turn % 7 === 0 ? ALL : 1 + (turn % 13));
      const use = { startedAt, endedAt: performance.now(), count };
      uses.push(use);
      await pause(turn % 10);
      if (!givesBack || turn % 3 > 0) continue;
      const unused = Math.ceil(count / 4);
      use.count -= unused;
      rates.give(channel, unused);
    }
  }
  const running = run();
  return {
    uses,
    used: () => uses.reduce((sum, { count }) => sum + count, 0),
    stop() {
      isStopped = true;
      return running;
    },
    /** Waits for calls of which all but the first begin after this moment. */
    async untilUsed(calls: number) {
      const end = uses.length + calls;
      await until("calls are made", () => uses.length >= end);
    },
  };
}

t.test("two dispatchers together reach the rate and do not exceed it", async (t) => {
  const perSecond = 400;
  const channel = newChannel();
  const url = await allocateRedisDatabase();
  const admin = await openOldRedis(t, url);
  const clients = [await connectRedis(t, url), await connectRedis(t, url)];
  const users = clients.map((redis) =>
    useTokens(createDispatcher(redis, { perSecond }), channel, { givesBack: false }),
  );
  const used = () => users.reduce((sum, user) => sum + user.used(), 0);
  await until("more tokens are used than a bucket holds", () => used() >= 520);
  await Promise.all(users.map(({ stop }) => stop()));
  const uses = users.flatMap((user) => user.uses);
  const firstAt = Math.min(...uses.map(({ endedAt }) => endedAt));
  const possible = ((performance.now() - firstAt + 900) * perSecond) / 1_000;
  const granted = used() + (await takeOne(createDispatcher(admin, { perSecond }), channel, ALL));
  t.ok(granted >= possible * 0.99, `${granted} of ${possible} tokens`);
  t.ok(worstExcess(uses, perSecond, 900) <= 1);
});

t.test("the rate is kept while Redis is lost, emptied and found again", async (t) => {
  const perSecond = 200;
  const channel = newChannel();
  const url = await allocateRedisDatabase();
  const admin = await openOldRedis(t, url);
  const clients = [await connectRedis(t, url), await connectRedis(t, url)];
  const dispatchers = clients.map((redis) => createDispatcher(redis, { perSecond, dispatchers: 2 }));
  const users = dispatchers.map((dispatcher) => useTokens(dispatcher, channel, { givesBack: true }));
  const untilUsed = (calls: number) => Promise.all(users.map((user) => user.untilUsed(calls)));
  await untilUsed(20);
  for (const isEmptied of [false, true]) {
    for (const { view } of dispatchers) view.isWritable = false;
    await untilUsed(10);
    if (isEmptied) await admin.flushdb();
    // The dispatchers see one after the other that Redis is back.
    for (const { view } of dispatchers) {
      view.isWritable = true;
      await untilUsed(isEmptied ? 15 : 50);
    }
  }
  await admin.flushdb();
  await untilUsed(20);
  for (const client of clients) client.disconnect();
  await untilUsed(2);
  await admin.flushdb();
  for (const client of clients) await client.connect();
  await until("a dispatcher asks Redis again", () => admin.exists("{18}:since"));
  await untilUsed(20);
  await Promise.all(users.map(({ stop }) => stop()));
  const uses = users.flatMap((user) => user.uses);
  const excess = worstExcess(uses, perSecond, 1_000);
  t.ok(excess <= 0, `${excess} tokens above the promise in ${uses.length} calls`);
});

t.test("a channel that pauses sleeps, and is limited until then like one that uses its rate", async (t) => {
  const redis = await connectRedis(t);
  let time = 0;
  const {
    pause: pauseChannel,
    takeOne,
    sleepOf,
  } = createDispatcher(redis, {
    perSecond: 0.1,
    now: () => time,
  });
  const [paused, used, light, idle] = [newChannel(), newChannel(), newChannel(), newChannel()];
  pauseChannel(paused, 60_000);
  pauseChannel(paused, 30_000);
  await redis.set("{18}:since", "0");
  t.equal(await takeOne(used, 5), 1);
  t.equal(await createDispatcher(redis, { perSecond: 10 }).takeOne(light, 1), 1);
  t.same(
    [paused, idle].map((channel) => sleepOf(channel)),
    [60_000, 0],
  );
  const limited = await listLimitedChannels({ redis, tags: TAGS }, [paused, used, light, idle]);
  t.same(limited, new Set([paused.channelId, used.channelId]));
  time = 60_000;
  t.equal(sleepOf(paused), 0);
});
