import t from "tap";
import { type ChannelRef, createChannelQueues, type TakenSends } from "../../src/queue/channel-queues.ts";
import { newId } from "../../src/runtime/ids.ts";
import { connectRedis } from "../fixtures/servers/redis.ts";
import { until } from "../fixtures/until.ts";

const newChannel = (): ChannelRef => ({
  clientId: "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
  channelId: newId("ch"),
});

const sendsOf = (channel: ChannelRef, count: number, slotAt?: number) =>
  Array.from({ length: count }, () => ({ ...channel, id: newId("msg"), slotAt }));

const idsOf = (sends: readonly { id: string }[]) => sends.map(({ id }) => id);

/** What Redis answers for the time to live of a key that does not expire. */
const NO_EXPIRY = -1;

/** Returns the difference between each moment and the one before. */
const steps = (moments: readonly number[]) =>
  moments.slice(1).map((moment, index) => Math.round(moment - (moments[index] as number)));

t.test("the queues of the channels", async (t) => {
  const redis = await connectRedis(t);
  const [queues, otherQueues] = [
    createChannelQueues(redis, { partitions: 1, perSecond: 40 }),
    createChannelQueues(redis, { partitions: 1, perSecond: 40 }),
  ];
  const take = async (channel: ChannelRef, count: number, from = queues) =>
    (await from.take([{ ...channel, count }]))[0] as TakenSends;

  t.test("a channel gets one second's slots immediately and the others evenly spaced", async (t) => {
    const channel = newChannel();
    const sends = sendsOf(channel, 60);
    t.same(await queues.add(sends), []);
    const { sends: taken, left, nextIn } = await take(channel, 100);
    t.same(idsOf(taken), idsOf(sends).slice(0, taken.length), "in the order in which they were added");
    const waits = taken.map(({ wait }) => Math.round(wait));
    t.same(waits.slice(0, 40), Array(40).fill(0));
    t.same([taken.length, left], [42, 18], "slots are taken 50 ms ahead");
    t.same(steps(waits.slice(40)), [25]);
    t.ok(nextIn > 0 && nextIn <= 25, `${nextIn} ms`);
    await until(
      "the next slot is taken when it is near",
      async () => (await take(channel, 100)).sends.length >= 1,
    );
  });

  t.test("all dispatchers share a channel's queue and its rate", async (t) => {
    const channel = newChannel();
    const sends = sendsOf(channel, 90);
    await queues.add(sends);
    await queues.add(sends.slice(0, 10));
    const began = performance.now();
    const [first, second] = [await take(channel, 25), await take(channel, 90, otherQueues)];
    const taken = [...first.sends, ...second.sends];
    t.same(idsOf(taken), idsOf(sends).slice(0, taken.length), "each send once");
    const allowed = 42 + Math.ceil((performance.now() - began) / 25);
    t.ok(taken.length >= 42 && taken.length <= allowed, "the second dispatcher gets what the first one left");
    t.equal(first.nextIn, 0, "the rate allowed more");
  });

  t.test("only sends that are taken use up slots", async (t) => {
    const channel = newChannel();
    await queues.add(sendsOf(channel, 4));
    const waits = (await take(channel, 40)).sends.map(({ wait }) => wait);
    await queues.add(sendsOf(channel, 36));
    for (let taken = 4; taken < 40; taken += 4)
      waits.push(...(await take(channel, 4)).sends.map(({ wait }) => wait));
    t.same(waits, Array(40).fill(0), "a few at a time, all of the first second's");
    t.same(await take(channel, 4), { channel, sends: [], left: 0, nextIn: 0 });
  });

  t.test("sends that do not fit get a later turn, behind those that came before", async (t) => {
    const channel = newChannel();
    const now = Date.now();
    // As many that the last turn stays further ahead than the test lasts.
    const left = await queues.add(sendsOf(channel, 4_100));
    t.equal(left.length, 4_000, "two and a half seconds fit");
    t.same(new Set(steps(left.map(({ slotAt }) => slotAt ?? 0))), new Set([25]));
    const startedAt = performance.now();
    const [fresh] = await otherQueues.add(sendsOf(channel, 1));
    // The turn is counted from the call, and by Redis from the command: a slow command makes it earlier.
    const delayMs = performance.now() - startedAt;
    const last = left.at(-1)?.slotAt ?? 0;
    t.ok((fresh?.slotAt ?? 0) > last - delayMs && last > now + 1_000, "a new send waits behind them");
    await take(channel, 30);
    t.equal((await queues.add(sendsOf(channel, 1))).length, 1, "even when the queue has room again");
    t.ok((await queues.fullChannels()).includes(channel.channelId) === false);
  });

  t.test("a send whose turn has come goes before those that had none yet", async (t) => {
    const channel = newChannel();
    const [fresh, due] = [sendsOf(channel, 100), sendsOf(channel, 3, Date.now())];
    await queues.add(fresh);
    t.ok((await queues.fullChannels()).includes(channel.channelId));
    t.same(await queues.add(due), [], "a full queue has room for it");
    t.same(idsOf((await take(channel, 4)).sends), idsOf([...due, ...fresh.slice(0, 1)]));
  });

  t.test("each channel has its own rate", async (t) => {
    const [one, other] = [newChannel(), newChannel()];
    await queues.add([...sendsOf(one, 60), ...sendsOf(other, 1)]);
    const answers = await queues.take([
      { ...one, count: 60 },
      { ...other, count: 60 },
    ]);
    t.same(
      answers.map(({ sends }) => sends.length),
      [42, 1],
    );
    t.same(answers[1]?.sends[0]?.wait, 0);
  });

  t.test(
    "only channels with queued sends are listed, and the state of an idle channel expires",
    async (t) => {
      const channel = newChannel();
      await queues.add(sendsOf(channel, 1));
      t.ok((await otherQueues.channels()).some(({ channelId }) => channelId === channel.channelId));
      await take(channel, 1);
      t.notOk((await queues.channels()).some(({ channelId }) => channelId === channel.channelId));
      const keys = await redis.keys(`*${channel.channelId}*`);
      t.ok(keys.length <= 1, "none once it has expired");
      const expiries = await Promise.all(keys.map((key) => redis.pttl(key)));
      t.ok(
        expiries.every((ms) => ms !== NO_EXPIRY && ms <= 1_200),
        expiries.join(),
      );
    },
  );
});
