import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { type Breakers, createBreakers, type Destination } from "../../src/queue/breakers.ts";
import { HOUR, SECOND } from "../../src/runtime/durations.ts";
import { keptLog } from "../fixtures/captured-log.ts";
import { connectedRedis, producer, startCluster } from "../fixtures/servers/redis.ts";

const CALL = { isBad: true, isProbe: false };

const newDestination = (): Destination => ({ clientId: randomUUID(), origin: "https://a.example" });

/** Two dispatchers with one Redis and one clock, which the test sets. */
async function twoOf(t: Test, partitions = 1, url?: string) {
  const clock = { now: Date.now() };
  const redis = await connectedRedis(t, url);
  const [one, other] = [1, 2].map(() => createBreakers(redis, partitions, { now: () => clock.now }));
  return { clock, redis, one: one as Breakers, other: other as Breakers };
}

async function fail(breakers: Breakers, destination: Destination, times: number) {
  for (let time = 0; time < times; time++) await breakers.note(destination, CALL);
}

t.test("after five failures in a row a destination is left alone for 5 s, by all", async (t) => {
  const { clock, one, other } = await twoOf(t);
  const [sick, well] = [newDestination(), newDestination()];
  await fail(one, sick, 4);
  t.equal(one.stateOf(sick).state, "closed");
  t.equal(one.isUnhealthy(sick.clientId), true);
  await fail(one, sick, 1);
  t.same(one.stateOf(sick), { state: "open", remaining: 5 * SECOND, rest: 5 * SECOND });
  t.equal(one.stateOf(well).state, "closed");
  t.equal(one.isUnhealthy(well.clientId), false);
  t.equal(other.stateOf(sick).state, "closed");
  await other.look();
  t.equal(other.stateOf(sick).state, "open");
  t.equal(other.isUnhealthy(sick.clientId), true);
  t.same(other.counts(), { open: 1, half_open: 0 });
  clock.now += 5 * SECOND;
  t.equal(other.stateOf(sick).state, "half_open");
  t.same(other.counts(), { open: 0, half_open: 1 });
});

t.test("an operator reads whose backend is left alone, and since when it no longer is", async (t) => {
  const { log, lines } = keptLog();
  const breakers = createBreakers(await connectedRedis(t), 1, { log });
  const { clientId: client, origin } = newDestination();
  await fail(breakers, { clientId: client, origin }, 5);
  await breakers.note({ clientId: client, origin }, { isBad: true, isProbe: true });
  await breakers.note({ clientId: client, origin }, { isBad: false, isProbe: true });
  t.match(lines, [
    { event: "breaker.opened", client, origin, failed_probes: 0 },
    { event: "breaker.opened", client, origin, failed_probes: 1 },
    { event: "breaker.closed", client, origin },
  ]);
});

t.test("half of twenty calls does the same", async (t) => {
  const { one } = await twoOf(t);
  const sick = newDestination();
  for (let call = 0; call < 20; call++) {
    t.equal(one.stateOf(sick).state, "closed");
    await one.note(sick, { isBad: call % 2 === 1, isProbe: false });
  }
  t.equal(one.stateOf(sick).state, "open");
});

t.test("then a single call may try, of all dispatchers; if it fails the rest is twice as long", async (t) => {
  const { clock, redis, one, other } = await twoOf(t);
  const sick = newDestination();
  await fail(one, sick, 5);
  await other.look();
  for (const rest of [10, 20, 40, 80, 160, 320, 600, 600]) {
    clock.now += 20 * 60 * SECOND;
    t.equal(await other.mayProbe(sick.clientId), true);
    t.equal(await other.mayProbe(sick.clientId), false);
    t.equal(await one.mayProbe(sick.clientId), false);
    await other.note(sick, { isBad: true, isProbe: true });
    t.same(other.stateOf(sick), { state: "open", remaining: rest * SECOND, rest: rest * SECOND });
    t.equal(await one.mayProbe(sick.clientId), false, "who has not looked yet does not try at once");
    await one.look();
    t.equal(one.stateOf(sick).state, "open");
    await redis.del(`{events:0}:probe:${sick.clientId}`); // which goes by the time of Redis
  }
});

t.test("a probe that succeeds ends it for all", async (t) => {
  const { clock, one, other } = await twoOf(t);
  const sick = newDestination();
  await fail(one, sick, 5);
  await other.look();
  clock.now += 5 * SECOND;
  t.equal(await other.mayProbe(sick.clientId), true);
  await other.note(sick, { isBad: false, isProbe: true });
  t.equal(other.stateOf(sick).state, "closed");
  await one.look();
  t.equal(one.stateOf(sick).state, "closed");
  t.equal(one.isUnhealthy(sick.clientId), false);
  await fail(one, sick, 4);
  t.equal(one.stateOf(sick).state, "closed", "and it begins from nothing");
});

t.test("calls that began before it was opened change nothing", async (t) => {
  const { one } = await twoOf(t);
  const sick = newDestination();
  await fail(one, sick, 5);
  const before = one.stateOf(sick);
  await one.note(sick, { isBad: false, isProbe: false });
  await fail(one, sick, 9);
  t.same(one.stateOf(sick), before);
});

t.test("a client that moves elsewhere is not on trial for where it was", async (t) => {
  const { clock, one, other } = await twoOf(t);
  const sick = newDestination();
  const moved = { ...sick, origin: "https://b.example" };
  await fail(one, sick, 5);
  t.equal(one.stateOf(moved).state, "closed");
  clock.now += 6 * SECOND;
  await one.note(moved, { isBad: false, isProbe: false });
  for (const breakers of [one, other]) {
    await breakers.look();
    t.equal(breakers.lastStateOf(sick.clientId).state, "closed");
    t.equal(breakers.isUnhealthy(sick.clientId), false);
  }
});

t.test("who is left alone for an hour and not tried since is forgotten", async (t) => {
  const { clock, one } = await twoOf(t);
  const sick = newDestination();
  await fail(one, sick, 5);
  clock.now += HOUR;
  await one.look();
  t.equal(one.stateOf(sick).state, "half_open");
  clock.now += 10 * SECOND;
  await one.look();
  t.equal(one.stateOf(sick).state, "closed");
});

t.test("what is lost with Redis is found out anew", async (t) => {
  const { redis, one } = await twoOf(t);
  const sick = newDestination();
  await fail(one, sick, 5);
  await redis.flushdb();
  await one.look();
  t.equal(one.stateOf(sick).state, "closed");
});

t.test("without Redis each dispatcher goes by what it has found itself", async (t) => {
  const clock = { now: Date.now() };
  const alone = createBreakers(producer(t), 1, { now: () => clock.now });
  const sick = newDestination();
  await fail(alone, sick, 5);
  t.equal(alone.stateOf(sick).state, "open");
  await t.rejects(alone.look());
  t.equal(alone.stateOf(sick).state, "open");
  clock.now += 5 * SECOND;
  t.equal(await alone.mayProbe(sick.clientId), true);
  t.equal(await alone.mayProbe(sick.clientId), false, "one at a time");
  await alone.note(sick, { isBad: true, isProbe: true });
  t.match(alone.stateOf(sick), { state: "open", rest: 10 * SECOND });
  clock.now += 10 * SECOND;
  t.equal(await alone.mayProbe(sick.clientId), true);
  clock.now += 31 * SECOND;
  t.equal(
    await alone.mayProbe(sick.clientId),
    true,
    "who tries for longer than a call lasts has been aborted",
  );
  await alone.note(sick, { isBad: false, isProbe: true });
  t.equal(alone.stateOf(sick).state, "closed");
});

t.test("a cluster keeps what belongs to one client together", async (t) => {
  const { clock, one, other } = await twoOf(t, 8, await startCluster(t));
  const destinations = Array.from({ length: 12 }, newDestination);
  for (const sick of destinations) await fail(one, sick, 5);
  await other.look();
  t.same(other.counts(), { open: 12, half_open: 0 });
  clock.now += 5 * SECOND;
  for (const sick of destinations) {
    t.equal(await other.mayProbe(sick.clientId), true);
    await other.note(sick, { isBad: false, isProbe: true });
  }
  await one.look();
  t.same(one.counts(), { open: 0, half_open: 0 });
});
