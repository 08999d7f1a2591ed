import t, { type Test } from "tap";
import { type ChannelRef, createChannelQueues } from "../../../../src/queue/channel-queues.ts";
import { newId } from "../../../../src/runtime/ids.ts";
import { createChannelPacer, type PacedSend } from "../../../../workers/dispatcher/sending/channel-pacer.ts";
import { connectRedis } from "../../../fixtures/servers/redis.ts";
import { until } from "../../../fixtures/until.ts";

const newChannel = (): ChannelRef => ({
  clientId: "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
  channelId: newId("ch"),
});

/** A pacer with this many slots. Sends that it starts are open until the test ends them. */
async function open(
  t: Test,
  {
    slots,
    perSecond,
    onStart = () => {},
  }: { slots: number; perSecond: number; onStart?(send: PacedSend): void },
) {
  const queues = createChannelQueues(await connectRedis(t), { partitions: 1, perSecond });
  const started: PacedSend[] = [];
  const openSends: PacedSend[] = [];
  let used = 0;
  const pacer = createChannelPacer({
    queues,
    acquire() {
      if (used === slots) return false;
      used += 1;
      return true;
    },
    release() {
      used -= 1;
    },
    freeSlots: () => slots - used,
    start(send) {
      started.push(send);
      openSends.push(send);
      onStart(send);
    },
  });
  t.teardown(pacer.close);
  const queue = (count: number, channel: ChannelRef) =>
    queues.add(Array.from({ length: count }, () => ({ ...channel, id: newId("msg") })));
  /** Queues as many sends of each channel. */
  const add = async (count: number, ...channels: ChannelRef[]) => {
    for (const channel of channels) await queue(count, channel);
    pacer.watch(channels);
  };
  const endOne = () => {
    openSends.shift();
    used -= 1;
    pacer.wake();
  };
  return { pacer, queue, started, openSends, add, endOne, used: () => used };
}

t.test("sends that wait for a concurrency slot use up no rate slot", async (t) => {
  const { started, openSends, add, endOne, used } = await open(t, { slots: 2, perSecond: 20 });
  await add(20, newChannel());
  for (let ended = 0; ended < 20; ended += 1) {
    await until("a send has started", () => openSends.length > 0);
    t.ok(openSends.length <= 2);
    endOne();
  }
  t.same(
    started.map(({ wait }) => wait),
    Array(20).fill(0),
  );
  await until("unused slots are free", () => used() === 0);
});

t.test("further sends start when the rate allows them, without another event", async (t) => {
  const { started, add, used } = await open(t, { slots: 100, perSecond: 40 });
  await add(50, newChannel());
  await until("all have started", () => started.length === 50);
  t.equal(used(), 50);
});

t.test("channels with sends share the free slots", async (t) => {
  const { started, add } = await open(t, { slots: 10, perSecond: 40 });
  const channels = [newChannel(), newChannel()] as const;
  await add(20, ...channels);
  await until("all slots are used", () => started.length === 10);
  for (const { channelId } of channels)
    t.equal(started.filter((send) => send.channelId === channelId).length, 5);
});

t.test("a rate slot that comes while a round lasts is used", async (t) => {
  const [busy, quiet] = [newChannel(), newChannel()];
  const blockEventLoop = ({ channelId }: PacedSend) => {
    const end = performance.now() + (channelId === quiet.channelId ? 60 : 0);
    while (performance.now() < end);
  };
  const { pacer, started, queue } = await open(t, { slots: 200, perSecond: 40, onStart: blockEventLoop });
  await queue(50, busy);
  await queue(1, quiet);
  pacer.watch([busy, quiet]);
  await until("all have started", () => started.length === 51);
});
