import t from "tap";
import { createSendRateLimiter } from "../../src/queue/send-rate.ts";
import { newId } from "../../src/runtime/ids.ts";
import { connectRedis } from "../fixtures/servers/redis.ts";

const newChannel = () => ({ clientId: "3f2504e0-4f89-11d3-9a0c-0305e82c3301", channelId: newId("ch") });

/** Returns the difference between each moment and the one before. */
const steps = (moments: readonly number[]) =>
  moments.slice(1).map((moment, index) => Math.round(moment - (moments[index] as number)));

t.test("the send rate limiter", async (t) => {
  const redis = await connectRedis(t);
  const rateLimiter = createSendRateLimiter(redis, { partitions: 1, perSecond: 10 });
  const otherRateLimiter = createSendRateLimiter(redis, { partitions: 1, perSecond: 10 });

  t.test("a channel gets one second's slots immediately and the others evenly spaced", async (t) => {
    const { fresh } = await rateLimiter.reserve(newChannel(), { due: 0, fresh: 30 });
    t.same(
      fresh.now.slice(0, 10).map((wait) => Math.round(wait)),
      Array(10).fill(0),
    );
    t.equal(fresh.now.length, 20);
    const rest = [...fresh.now.slice(9), ...fresh.later];
    t.same(steps(rest), Array(rest.length - 1).fill(100));
  });

  t.test("all dispatchers share a channel's rate, and a later send waits behind earlier ones", async (t) => {
    const channel = newChannel();
    await rateLimiter.reserve(channel, { due: 0, fresh: 200 });
    const { fresh } = await otherRateLimiter.reserve(channel, { due: 0, fresh: 1 });
    t.same(fresh.now, []);
    const [wait = 0] = fresh.later;
    t.ok(wait > 1_000 && wait <= 19_200, `${wait} ms`);
  });

  t.test("due sends get slots before fresh ones, and sends without a slot use none", async (t) => {
    const channel = newChannel();
    const { due, fresh } = await rateLimiter.reserve(channel, { due: 15, fresh: 15 });
    t.same([due.now.length, fresh.now.length, fresh.later.length], [15, 5, 10]);
    const again = await rateLimiter.reserve(channel, { due: 100, fresh: 0 });
    t.ok(again.due.now.length < 100, "only as many as there are slots");
  });

  t.test("each channel has its own rate", async (t) => {
    await rateLimiter.reserve(newChannel(), { due: 0, fresh: 50 });
    t.same((await rateLimiter.reserve(newChannel(), { due: 0, fresh: 1 })).fresh.now, [0]);
  });

  t.test("the state of an idle channel expires", async (t) => {
    const channel = newChannel();
    await rateLimiter.reserve(channel, { due: 0, fresh: 1 });
    const [key = ""] = await redis.keys(`*${channel.channelId}`);
    t.ok((await redis.pttl(key)) <= 1_200);
  });
});
