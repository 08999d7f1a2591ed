import t, { type Test } from "tap";
import { listLimitedChannels } from "../../src/queue/rates.ts";
import {
  ALL,
  createDispatcher,
  newChannel,
  openOldRedis,
  TAGS,
  type Use,
  withScripts,
  worstExcess,
} from "../fixtures/messages/rates.ts";
import { countTokens, newBatch, openSimulation, type Sender } from "../fixtures/messages/simulated-rates.ts";

/** Time that buckets need until what they held at the start does not matter. */
const WARM_UP_MS = 3_000;
const RUN_SECONDS = 5;
/** A key that does not sleep between its takes has a thousand. */
const MAX_TAKES_PER_SECOND = 30;

/** Above what the rate promises: a fraction of a token is the rounding of times. */
const checkBound = (t: Test, uses: readonly Use[], perSecond: number) => {
  const excess = worstExcess(uses, perSecond, 1_000);
  t.ok(excess < 0.01, `${excess} tokens above ${perSecond} x (t + 1 s)`);
};

/** Counts the tokens of each window of this length. */
function countByWindow(uses: readonly Use[], windowMs: number, startedAt: number): number[] {
  const counts: number[] = [];
  for (const use of uses) {
    const index = Math.floor((use.startedAt - startedAt) / windowMs);
    counts[index] = (counts[index] ?? 0) + use.count;
  }
  return Array.from(counts, (count) => count ?? 0);
}

const spreadOf = (counts: readonly number[]): number => Math.max(...counts) - Math.min(...counts);

for (const place of ["with Redis", "without Redis"]) {
  const isLocal = place === "without Redis";

  /** A dispatcher of a simulation. */
  async function open(t: Test, perSecond: number) {
    const simulation = await openSimulation(t, perSecond);
    const dispatcher = simulation.openDispatcher();
    dispatcher.view.isWritable = !isLocal;
    return { ...simulation, dispatcher, channel: newChannel() };
  }

  for (const perSecond of [1, 80])
    t.test(`${place}, a batch alone gets the whole rate of ${perSecond}`, async (t) => {
      const { run, dispatcher, channel } = await open(t, perSecond);
      const senders = [{ dispatcher, key: newBatch(channel) }];
      const [before = []] = await run(senders, WARM_UP_MS);
      const [uses = []] = await run(senders, RUN_SECONDS * 1_000);
      t.ok(countTokens(uses) >= RUN_SECONDS * perSecond - 1, `${countTokens(uses)} tokens`);
      checkBound(t, [...before, ...uses], perSecond);
      t.ok(uses.length <= RUN_SECONDS * MAX_TAKES_PER_SECOND, `${uses.length} takes`);
    });

  t.test(`${place}, batches share their tokens evenly, and their share beside single messages`, async (t) => {
    const perSecond = 20;
    for (const hasSingles of [false, true]) {
      const { run, dispatcher, channel } = await open(t, perSecond);
      const batches = [1, 2, 3].map(() => ({ dispatcher, key: newBatch(channel) }));
      const senders = hasSingles ? [...batches, { dispatcher, key: channel }] : batches;
      await run(senders, WARM_UP_MS);
      const counts = (await run(senders, RUN_SECONDS * 1_000)).slice(0, 3).map(countTokens);
      t.ok(spreadOf(counts) <= 1, `${counts} tokens`);
      t.ok(Math.min(...counts) >= (RUN_SECONDS * perSecond) / (hasSingles ? 30 : 3) - 1);
    }
  });

  t.test(`${place}, a batch keeps to its own rate and leaves the rest to others`, async (t) => {
    const perSecond = 20;
    const { run, dispatcher, channel } = await open(t, perSecond);
    const slow = { dispatcher, key: newBatch(channel), perSecond: 2 };
    const senders = [slow, ...[1, 2].map(() => ({ dispatcher, key: newBatch(channel) }))];
    const before = await run(senders, WARM_UP_MS);
    const uses = await run(senders, RUN_SECONDS * 1_000);
    const [slowCount = 0, ...counts] = uses.map(countTokens);
    t.ok(Math.abs(slowCount - 2 * RUN_SECONDS) <= 1, `${slowCount} tokens at 2 per second`);
    checkBound(t, [...(before[0] ?? []), ...(uses[0] ?? [])], 2);
    t.ok(spreadOf(counts) <= 1, `${counts} tokens of the others`);
    t.ok(
      slowCount + countTokens(uses.slice(1).flat()) >= RUN_SECONDS * perSecond - 1,
      "the whole rate is used",
    );
  });

  t.test(`${place}, a single message that comes while a batch runs starts at once`, async (t) => {
    for (const [perSecond, everyMs] of [
      [5, 600],
      [80, 30],
    ] as const) {
      const { run, dispatcher, channel } = await open(t, perSecond);
      const senders = [{ dispatcher, key: newBatch(channel) }];
      await run(senders, WARM_UP_MS);
      let [ofBatch, ofSingles] = [0, 0];
      for (; ofSingles < 50; ofSingles += 1) {
        // The dispatcher asks for more than wait, and returns the others.
        const granted = await dispatcher.takeOne(channel, 30);
        t.ok(granted >= 1, `single message ${ofSingles} at ${perSecond} per second`);
        dispatcher.give(channel, granted - 1);
        ofBatch += countTokens((await run(senders, everyMs)).flat());
      }
      const possible = (50 * everyMs * perSecond) / 1_000;
      t.ok(ofBatch + ofSingles >= possible * 0.95, `${ofBatch} and ${ofSingles} of ${possible} tokens`);
    }
  });
}

type Arrangement = "one dispatcher" | "singles before batches" | "batches before singles" | "without Redis";
const ARRANGEMENTS: Arrangement[] = [
  "one dispatcher",
  "singles before batches",
  "batches before singles",
  "without Redis",
];

/** Single messages and two batches that always wait, on one dispatcher or on two of which one is always the first. */
async function openArrangement(t: Test, perSecond: number, arrangement: Arrangement) {
  const simulation = await openSimulation(t, perSecond);
  const dispatcher = simulation.openDispatcher();
  dispatcher.view.isWritable = arrangement !== "without Redis";
  const isOne = arrangement === "one dispatcher" || arrangement === "without Redis";
  const ofBatches = isOne ? dispatcher : simulation.openDispatcher();
  const channel = newChannel();
  const singles: Sender = { dispatcher, key: channel };
  const batches: Sender[] = [1, 2].map(() => ({ dispatcher: ofBatches, key: newBatch(channel) }));
  const senders = arrangement === "batches before singles" ? [...batches, singles] : [singles, ...batches];
  return { ...simulation, senders, singles };
}

for (const arrangement of ARRANGEMENTS)
  for (const perSecond of [1, 20])
    t.test(`batches get a tenth of ${perSecond} while single messages wait: ${arrangement}`, async (t) => {
      const { run, clock, senders, singles } = await openArrangement(t, perSecond, arrangement);
      const windowMs = perSecond < 10 ? 10_000 : 1_000;
      const before = await run(senders, WARM_UP_MS);
      const startedAt = clock.time;
      const uses = await run(senders, 3 * windowMs);
      const place = senders.indexOf(singles);
      const ofBatches = countByWindow(uses.filter((_, index) => index !== place).flat(), windowMs, startedAt);
      const ofSingles = countByWindow(uses[place] ?? [], windowMs, startedAt);
      const perWindow = (perSecond * windowMs) / 1_000;
      t.equal(ofBatches.length, 3);
      for (const count of ofBatches)
        t.ok(count >= 1 && Math.abs(count - perWindow / 10) <= 1, `batches: ${count} of ${perWindow}`);
      for (const count of ofSingles) t.ok(count >= perWindow * 0.9 - 1, `singles: ${count} of ${perWindow}`);
      checkBound(t, [...before, ...uses].flat(), perSecond);
      const seconds = (3 * windowMs) / 1_000;
      for (const takes of uses) t.ok(takes.length <= seconds * MAX_TAKES_PER_SECOND, `${takes.length} takes`);
    });

t.test("without Redis the dispatchers divide a batch's own rate too", async (t) => {
  const { run, openDispatcher } = await openSimulation(t, 80);
  const dispatcher = openDispatcher(2);
  dispatcher.view.isWritable = false;
  const senders = [{ dispatcher, key: newBatch(newChannel()), perSecond: 10 }];
  await run(senders, WARM_UP_MS);
  const count = countTokens((await run(senders, RUN_SECONDS * 1_000)).flat());
  t.ok(Math.abs(count - 5 * RUN_SECONDS) <= 1, `${count} tokens`);
});

t.test("the rates are kept with batches while Redis is lost, emptied and found again", async (t) => {
  const perSecond = 20;
  const { run, admin, openDispatcher } = await openSimulation(t, perSecond);
  const channel = newChannel();
  const [batch, slow] = [newBatch(channel), newBatch(channel)];
  const dispatchers = [openDispatcher(2), openDispatcher(2)] as const;
  const senders = dispatchers.flatMap((dispatcher): Sender[] => [
    { dispatcher, key: channel },
    { dispatcher, key: batch },
    { dispatcher, key: slow, perSecond: 4 },
  ]);
  const uses = senders.map((): Use[] => []);
  const runOn = async (milliseconds: number) => {
    for (const [index, takes] of (await run(senders, milliseconds)).entries()) uses[index]?.push(...takes);
  };
  await runOn(2_000);
  for (const isEmptied of [false, true]) {
    for (const { view } of dispatchers) view.isWritable = false;
    await runOn(2_500);
    if (isEmptied) await admin.flushdb();
    // The dispatchers see one after the other that Redis is back.
    for (const { view } of dispatchers) {
      view.isWritable = true;
      await runOn(700);
    }
    await runOn(9_000); // until the tag is shared again
  }
  checkBound(t, uses.flat(), perSecond);
  checkBound(t, [...(uses[2] ?? []), ...(uses[5] ?? [])], 4);
  for (const takes of uses) t.ok(countTokens(takes) > 0, "each key got tokens");
});

t.test("the buckets of batches are empty when Redis begins", async (t) => {
  const { clock, admin, openDispatcher } = await openSimulation(t, 20);
  await admin.flushdb();
  const { take } = openDispatcher();
  const wish = { ...newBatch(newChannel()), perSecond: 5, count: ALL };
  t.same(await take([wish]), [0]);
  clock.time += 400;
  t.same(await take([{ ...wish, ...newBatch(wish) }]), [0], "no share, and no token above the reserve");
  clock.time += 200;
  t.same(await take([wish]), [3]);
});

t.test("returned tokens of a batch go to its own bucket, the share and the channel", async (t) => {
  const { admin, openDispatcher } = await openSimulation(t, 20);
  const { take, takeOne, give } = openDispatcher();
  const channel = newChannel();
  const [batch, slow] = [newBatch(channel), { ...newBatch(channel), perSecond: 2, count: ALL }];
  t.equal(await takeOne(channel), 18);
  give(channel, 2);
  t.equal(await takeOne(batch), 2, "below the reserve, as many as the share has");
  give(batch, 2);
  t.equal(await takeOne(channel, 1), 1, "the channel has them again");
  give(channel, 1);
  t.equal(await takeOne(batch), 2, "and so has the share");
  give(batch, 1);
  give(batch, 1);
  t.equal(await takeOne(batch), 2);
  t.equal(await takeOne(batch), 0);
  give(channel, 18);
  t.same(await take([slow]), [1]);
  t.same(await take([slow]), [0]);
  give(slow, 1);
  t.same(await take([slow]), [1], "its own bucket has it again");
  t.same(await listLimitedChannels({ redis: admin, tags: TAGS }, [channel]), new Set());
});

t.test("single messages and batches sleep by their own answers, and pause together", async (t) => {
  const { clock, openDispatcher } = await openSimulation(t, 20);
  const { take, takeOne, give, sleepOf, pause } = openDispatcher();
  const channel = newChannel();
  const batch = newBatch(channel);
  t.same(await take([{ ...batch, perSecond: 1, count: ALL }]), [1]);
  t.equal(sleepOf(batch), 1_000, "until its own bucket has a token");
  t.equal(sleepOf(channel), 0);
  await takeOne(channel);
  t.equal(sleepOf(channel), 50);
  t.equal(sleepOf(newBatch(channel)), 0);
  give(channel, 1);
  t.same([sleepOf(channel), sleepOf(batch)], [0, 1_000]);
  pause(channel, 60_000);
  t.same([channel, batch, newBatch(channel)].map(sleepOf), [60_000, 60_000, 60_000]);
  clock.time += 60_000;
  t.same([channel, batch].map(sleepOf), [0, 0]);
});

t.test(
  "a channel is limited while its single messages wait, not because a batch uses its rate",
  async (t) => {
    const { run, admin, openDispatcher } = await openSimulation(t, 20);
    const dispatcher = openDispatcher();
    const channel = newChannel();
    const listLimited = () => listLimitedChannels({ redis: admin, tags: TAGS }, [channel]);
    await run([{ dispatcher, key: newBatch(channel) }], WARM_UP_MS);
    t.same(await listLimited(), new Set());
    const granted = await dispatcher.takeOne(channel);
    t.same(await listLimited(), new Set([channel.channelId]));
    dispatcher.give(channel, granted);
    await dispatcher.takeOne(newChannel(), 1); // its answer comes after that of the GIVE
    t.same(await listLimited(), new Set());
  },
);

t.test("a call takes the tokens of batches with one script, and all its keys expire", async (t) => {
  const redis = await openOldRedis(t);
  let scripts = 0;
  const counted = withScripts(redis, () => {
    scripts += 1;
  });
  const { take } = createDispatcher(counted, { perSecond: 10 });
  const channel = newChannel();
  const keys = [channel, newBatch(channel), newBatch(channel), newBatch(newChannel())];
  const granted = await take(keys.map((key) => ({ ...key, perSecond: key.batchId ? 0.01 : null, count: 2 })));
  t.same(granted, [2, 1, 1, 1]);
  t.equal(scripts, 1);
  const names = (await redis.keys("*")).filter((name) => !name.endsWith("since"));
  t.ok(names.length > 0);
  for (const name of names) {
    t.match(name, /^\{18\}:/);
    t.ok((await redis.pttl(name)) !== -1, `${name} expires`);
  }
});
