import t from "tap";
import { createRate } from "../../../src/dispatch/queue/rate.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { connectedRedis } from "../../fixtures/redis.ts";

const speaker = () => ({ clientId: "3f2504e0-4f89-11d3-9a0c-0305e82c3301", channelId: newId("ch") });

t.test("a channel's rate", async (t) => {
  const redis = await connectedRedis(t);
  const rate = createRate(redis, { partitions: 1, perSecond: 10 });
  const another = createRate(redis, { partitions: 1, perSecond: 10 });

  t.test("lets one second's worth go at once, and the rest at its pace", async (t) => {
    const waits = await rate.take(speaker(), 30);
    t.same(
      waits.slice(0, 10).map((wait) => Math.round(wait)),
      Array(10).fill(0),
    );
    const steps = waits.slice(10).map((wait, index) => wait - (waits[9 + index] as number));
    for (const step of steps) t.ok(Math.abs(step - 100) < 1, `${step} ms after the one before`);
  });

  t.test("is one for all dispatchers", async (t) => {
    const channel = speaker();
    await rate.take(channel, 200);
    const [wait = 0] = await another.take(channel, 1);
    t.ok(wait > 0 && wait <= 19_100, `${wait} ms`);
  });

  t.test("is each channel's own", async (t) => {
    await rate.take(speaker(), 50);
    t.same(await rate.take(speaker(), 1), [0]);
  });

  t.test("forgets a channel that is silent", async (t) => {
    const channel = speaker();
    await rate.take(channel, 1);
    const [key = ""] = await redis.keys(`*${channel.channelId}`);
    t.ok((await redis.pttl(key)) <= 1_200);
  });
});
