import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import t from "tap";
import {
  type Breakers,
  countCall,
  createBreakers,
  type Destination,
  type FailureCounts,
  isExpired,
  newFailureCounts,
  openDuration,
  readBreakerState,
  shouldOpen,
} from "../../src/queue/breakers.ts";
import { HOUR, MINUTE, SECOND } from "../../src/runtime/durations.ts";
import { refreshBreakers } from "../../workers/dispatcher/delivering/deliver-event.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { openQueueContext } from "../fixtures/events/queue-rows.ts";
import { connectRedis, openProducer } from "../fixtures/servers/redis.ts";
import { startOneNodeCluster } from "../fixtures/servers/redis-cluster.ts";

const FAILED_CALL = { isFailure: true, isProbe: false };

const newDestination = (): Destination => ({ clientId: randomUUID(), origin: "https://a.example" });

/** The breakers of two dispatchers with one Redis and one clock, which the test sets. */
async function twoBreakers(t: Test, tags: readonly number[] = [18], url?: string) {
  const clock = { now: Date.now() };
  const redis = await connectRedis(t, url);
  const [one, other] = [1, 2].map(() => createBreakers(redis, tags, { now: () => clock.now }));
  return { clock, redis, one: one as Breakers, other: other as Breakers };
}

async function failTimes(breakers: Breakers, destination: Destination, times: number) {
  for (let time = 0; time < times; time++) await breakers.recordResult(destination, FAILED_CALL);
}

t.test("a breaker opens for 5 s after five failures in a row, in all dispatchers", async (t) => {
  const { clock, one, other } = await twoBreakers(t);
  const [failing, healthy] = [newDestination(), newDestination()];
  await failTimes(one, failing, 4);
  t.equal(one.stateOf(failing).state, "closed");
  t.equal(one.isUnhealthy(failing.clientId), true);
  await failTimes(one, failing, 1);
  t.same(one.stateOf(failing), { state: "open", remaining: 5 * SECOND, duration: 5 * SECOND });
  t.equal(one.stateOf(healthy).state, "closed");
  t.equal(one.isUnhealthy(healthy.clientId), false);
  t.equal(other.stateOf(failing).state, "closed");
  await other.refresh();
  t.equal(other.stateOf(failing).state, "open");
  t.equal(other.isUnhealthy(failing.clientId), true);
  t.same(other.counts(), { open: 1, half_open: 0 });
  clock.now += 5 * SECOND;
  t.equal(other.stateOf(failing).state, "half_open");
  t.same(other.counts(), { open: 0, half_open: 1 });
});

t.test("breakers of one tag are read while those of another cannot be", async (t) => {
  const { redis, one, other } = await twoBreakers(t, [18, 32]);
  const readable = { clientId: `${randomUUID().slice(0, -2)}01`, origin: "https://a.example" };
  await failTimes(one, readable, 5);
  await redis.set("{18}:breakers", "no table");
  await t.rejects(other.refresh(), { message: /WRONGTYPE/ });
  t.equal(other.stateOf(readable).state, "open");
});

t.test("the log names the client and origin of each breaker that opens or closes", async (t) => {
  const { log, lines } = captureLog();
  const breakers = createBreakers(await connectRedis(t), [18], { log });
  const { clientId: client, origin } = newDestination();
  await failTimes(breakers, { clientId: client, origin }, 5);
  await breakers.recordResult({ clientId: client, origin }, { isFailure: true, isProbe: true });
  await breakers.recordResult({ clientId: client, origin }, { isFailure: false, isProbe: true });
  t.match(lines, [
    { event: "breaker.opened", client, origin, failed_probes: 0 },
    { event: "breaker.opened", client, origin, failed_probes: 1 },
    { event: "breaker.closed", client, origin },
  ]);
});

t.test("the log shows since when a breaker is open, unless an earlier version stored it", async (t) => {
  const { log, lines } = captureLog();
  const clock = { now: Date.now() };
  const redis = await connectRedis(t);
  const [one, other] = [1, 2].map(() => createBreakers(redis, [18], { log, now: () => clock.now }));
  const failing = newDestination();
  const since = new Date(clock.now).toISOString();
  await failTimes(one as Breakers, failing, 5);
  await other?.refresh();
  clock.now += 5 * SECOND;
  await other?.recordResult(failing, { isFailure: true, isProbe: true });
  const { clientId, origin } = newDestination();
  const stored = JSON.stringify({ origin, until: clock.now, failedProbes: 3 });
  await redis.hset("{18}:breakers", clientId, stored);
  await other?.refresh();
  await other?.recordResult({ clientId, origin }, { isFailure: true, isProbe: true });
  t.match(lines, [{ since }, { since, failed_probes: 1 }, { client: clientId, failed_probes: 4 }]);
  t.notOk("since" in (lines[2] ?? {}));
});

t.test("a breaker opens when half of twenty calls fail", async (t) => {
  const { one } = await twoBreakers(t);
  const failing = newDestination();
  for (let call = 0; call < 20; call++) {
    t.equal(one.stateOf(failing).state, "closed");
    await one.recordResult(failing, { isFailure: call % 2 === 1, isProbe: false });
  }
  t.equal(one.stateOf(failing).state, "open");
});

t.test(
  "a half-open breaker allows one probe among all dispatchers; a failed probe doubles the open time",
  async (t) => {
    const { clock, redis, one, other } = await twoBreakers(t);
    const failing = newDestination();
    await failTimes(one, failing, 5);
    await other.refresh();
    for (const rest of [10, 20, 40, 80, 160, 320, 600, 600]) {
      clock.now += 20 * 60 * SECOND;
      t.equal(await other.tryAcquireProbe(failing.clientId), true);
      t.equal(await other.tryAcquireProbe(failing.clientId), false);
      t.equal(await one.tryAcquireProbe(failing.clientId), false);
      await other.recordResult(failing, { isFailure: true, isProbe: true });
      t.same(other.stateOf(failing), { state: "open", remaining: rest * SECOND, duration: rest * SECOND });
      t.equal(
        await one.tryAcquireProbe(failing.clientId),
        false,
        "a dispatcher with the old state does not probe",
      );
      await one.refresh();
      t.equal(one.stateOf(failing).state, "open");
      await redis.del(`{18}:probe:${failing.clientId}`); // it expires by the clock of Redis
    }
  },
);

t.test("a successful probe closes the breaker in all dispatchers", async (t) => {
  const { clock, one, other } = await twoBreakers(t);
  const failing = newDestination();
  await failTimes(one, failing, 5);
  await other.refresh();
  clock.now += 5 * SECOND;
  t.equal(await other.tryAcquireProbe(failing.clientId), true);
  await other.recordResult(failing, { isFailure: false, isProbe: true });
  t.equal(other.stateOf(failing).state, "closed");
  await one.refresh();
  t.equal(one.stateOf(failing).state, "closed");
  t.equal(one.isUnhealthy(failing.clientId), false);
  await failTimes(one, failing, 4);
  t.equal(one.stateOf(failing).state, "closed", "former failures do not count");
});

t.test(
  "no call for a client may start while its breaker is open or its backend is being probed",
  async (t) => {
    const { clock, one, other } = await twoBreakers(t);
    const destination = newDestination();
    const { clientId } = destination;
    await failTimes(one, destination, 5);
    await other.refresh();
    t.equal(one.sleepOf(clientId), 5 * SECOND);
    clock.now += 5 * SECOND;
    t.same([one.sleepOf(clientId), one.sleepingClients()], [0, []]);
    t.ok(await one.tryAcquireProbe(clientId));
    t.notOk(await other.tryAcquireProbe(clientId));
    for (const breakers of [one, other]) {
      t.ok(breakers.sleepOf(clientId) > 0);
      t.same(breakers.sleepingClients(), [clientId]);
    }
    await one.recordResult(destination, { isFailure: false, isProbe: true });
    t.equal(one.sleepOf(clientId), 0);
  },
);

t.test("the breaker of a replaced backend is closed without Redis too", async (t) => {
  const context = await openQueueContext(t);
  const breakers = createBreakers(openProducer(t), [18]);
  await failTimes(breakers, { clientId: context.clientId, origin: "https://former.example" }, 5);
  t.same(breakers.sleepingClients(), [context.clientId]);
  await t.rejects(refreshBreakers({ db: context.db, breakers }), "the breakers of others could not be read");
  t.same(breakers.sleepingClients(), []);
});

t.test("calls that began before the breaker opened do not change it", async (t) => {
  const { one } = await twoBreakers(t);
  const failing = newDestination();
  await failTimes(one, failing, 5);
  const before = one.stateOf(failing);
  await one.recordResult(failing, { isFailure: false, isProbe: false });
  await failTimes(one, failing, 9);
  t.same(one.stateOf(failing), before);
});

t.test("a client with a new origin is not blocked by the breaker of its former one", async (t) => {
  const { clock, one, other } = await twoBreakers(t);
  const failing = newDestination();
  const moved = { ...failing, origin: "https://b.example" };
  await failTimes(one, failing, 5);
  t.equal(one.stateOf(moved).state, "closed");
  clock.now += 6 * SECOND;
  await one.recordResult(moved, { isFailure: false, isProbe: false });
  for (const breakers of [one, other]) {
    await breakers.refresh();
    t.equal(breakers.stateOfClient(failing.clientId).state, "closed");
    t.equal(breakers.isUnhealthy(failing.clientId), false);
  }
});

t.test("a breaker closes after an hour without a probe", async (t) => {
  const { clock, one } = await twoBreakers(t);
  const failing = newDestination();
  await failTimes(one, failing, 5);
  clock.now += HOUR;
  await one.refresh();
  t.equal(one.stateOf(failing).state, "half_open");
  clock.now += 10 * SECOND;
  await one.refresh();
  t.equal(one.stateOf(failing).state, "closed");
});

t.test("a breaker that Redis loses counts as closed", async (t) => {
  const { redis, one } = await twoBreakers(t);
  const failing = newDestination();
  await failTimes(one, failing, 5);
  await redis.flushdb();
  await one.refresh();
  t.equal(one.stateOf(failing).state, "closed");
});

t.test("each dispatcher keeps its own breakers without Redis", async (t) => {
  const clock = { now: Date.now() };
  const alone = createBreakers(openProducer(t), [18], { now: () => clock.now });
  const failing = newDestination();
  await failTimes(alone, failing, 5);
  t.equal(alone.stateOf(failing).state, "open");
  await t.rejects(alone.refresh());
  t.equal(alone.stateOf(failing).state, "open");
  clock.now += 5 * SECOND;
  t.equal(await alone.tryAcquireProbe(failing.clientId), true);
  t.equal(await alone.tryAcquireProbe(failing.clientId), false, "one probe at a time");
  await alone.recordResult(failing, { isFailure: true, isProbe: true });
  t.match(alone.stateOf(failing), { state: "open", duration: 10 * SECOND });
  clock.now += 10 * SECOND;
  t.equal(await alone.tryAcquireProbe(failing.clientId), true);
  clock.now += 31 * SECOND;
  t.equal(await alone.tryAcquireProbe(failing.clientId), true, "a probe without a result expires");
  await alone.recordResult(failing, { isFailure: false, isProbe: true });
  t.equal(alone.stateOf(failing).state, "closed");
});

t.test("breakers work in a Redis Cluster", async (t) => {
  const { clock, one, other } = await twoBreakers(t, [18, 32, 50], await startOneNodeCluster(t));
  const destinations = Array.from({ length: 12 }, newDestination);
  for (const failing of destinations) await failTimes(one, failing, 5);
  await other.refresh();
  t.same(other.counts(), { open: 12, half_open: 0 });
  clock.now += 5 * SECOND;
  for (const failing of destinations) {
    t.equal(await other.tryAcquireProbe(failing.clientId), true);
    await other.recordResult(failing, { isFailure: false, isProbe: true });
  }
  await one.refresh();
  t.same(one.counts(), { open: 0, half_open: 0 });
});

t.test("the shared state says until when a breaker is open", async (t) => {
  const [redis, tags, closed] = [await connectRedis(t), [18], { state: "closed", until: null }];
  const open = (failing: Destination, offset: number) =>
    failTimes(createBreakers(redis, tags, { now: () => Date.now() + offset }), failing, 5);
  const read = (destination: Destination) => readBreakerState({ redis, tags }, destination);
  const [failing, skewed] = [newDestination(), newDestination()];
  t.same(await read(failing), closed);
  await open(failing, -HOUR);
  t.same(await read(failing), { state: "half_open", until: null });
  // By a clock that is ahead: the breaker is open for 5 s of the reader's clock.
  await open(skewed, HOUR);
  const before = Date.now();
  const { state, until } = await read(skewed);
  t.equal(state, "open");
  t.ok(Number(until) >= before + 5 * SECOND && Number(until) <= Date.now() + 5 * SECOND);
  t.same(await read({ ...skewed, origin: "https://b.example" }), closed);
  t.same(await readBreakerState({ redis: openProducer(t), tags }, skewed), closed, "without Redis");
});

/** Each letter is a call, "b" a failed one; the calls are `secondsApart`. */
function countsAfter(calls: string, secondsApart = 1): FailureCounts {
  let counts = newFailureCounts(0);
  for (const [index, call] of [...calls].entries())
    counts = countCall(counts, call === "b", index * secondsApart * SECOND);
  return counts;
}

const CASES: [string, number, boolean, string][] = [
  ["bbbb", 1, false, "four in a row"],
  ["bbbbb", 1, true, "five in a row"],
  ["bbbbgbbbb", 1, false, "a success between failures"],
  ["gbbbbb", 1, true, "five in a row after a success"],
  ["bbbbb", 600, true, "five in a row, ten minutes apart"],
  ["gb".repeat(9), 1, false, "half of eighteen"],
  ["gb".repeat(10), 1, true, "half of twenty"],
  [`${"gb".repeat(9)}gg`, 1, false, "less than half of twenty"],
  ["gb".repeat(10), 7, false, "half of twenty, but not within a minute"],
  [`${"g".repeat(40)}${"gb".repeat(9)}`, 0.1, false, "fewer than half of many"],
];

t.test(
  "a breaker opens after five failures in a row, or when half of twenty calls fail within a minute",
  async (t) => {
    for (const [calls, secondsApart, expected, name] of CASES)
      t.equal(shouldOpen(countsAfter(calls, secondsApart)), expected, name);
  },
);

t.test("calls more than a minute ago do not count", async (t) => {
  let counts = countsAfter("gb".repeat(9), 0.1);
  for (const call of "gb") counts = countCall(counts, call === "b", 2 * MINUTE);
  t.equal(shouldOpen(counts), false);
});

t.test("the counts expire a minute after a success, and not after a failure", async (t) => {
  t.equal(isExpired(countsAfter("bg"), 30 * SECOND), false);
  t.equal(isExpired(countsAfter("bg"), 70 * SECOND), true);
  t.equal(isExpired(countsAfter("gb"), 70 * SECOND), false);
});

t.test("a breaker is open for 5 s, and twice as long after each failed probe, up to 10 min", async (t) => {
  const durations = [5, 10, 20, 40, 80, 160, 320, 600, 600].map((seconds) => seconds * SECOND);
  t.same(
    durations.map((_, failedProbes) => openDuration(failedProbes)),
    durations,
  );
  t.equal(openDuration(2_000), 10 * MINUTE);
});
