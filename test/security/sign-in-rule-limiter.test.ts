import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import t from "tap";
import type { RedisClient } from "../../src/queue/redis.ts";
import { MINUTE } from "../../src/runtime/durations.ts";
import {
  createSignInRuleLimiter,
  PAIR_RULE,
  type SignInRuleLimiter,
} from "../../src/security/sign-in-limits.ts";
import { connectRedis, openProducer } from "../fixtures/servers/redis.ts";
import { allocateRedisDatabase } from "../fixtures/servers/servers.ts";

const newIdentity = () => ["192.0.2.1", `${randomUUID()}@example.com`];
const fails = async () => undefined;
const succeeds = async () => "in";

const SUCCEEDED = { outcome: "made", result: "in" };
const LIMITED = { outcome: "limited" };

async function failTimes(
  limiter: SignInRuleLimiter,
  identity: readonly string[],
  times: number,
): Promise<void> {
  for (let count = 0; count < times; count++) await limiter(identity, fails);
}

const STORES: Record<string, (t: Test) => Promise<RedisClient>> = {
  "in Redis": connectRedis,
  "in the process while Redis is unavailable": async (t) => openProducer(t),
};

for (const [place, open] of Object.entries(STORES))
  t.test(`attempts are counted ${place}`, async (t) => {
    const limiter = createSignInRuleLimiter(await open(t), PAIR_RULE);

    t.test("after ten failures the next attempt is rejected without running", async (t) => {
      const identity = newIdentity();
      await failTimes(limiter, identity, 10);
      let made = false;
      const next = await limiter(identity, async () => {
        made = true;
        return "in";
      });
      t.match(next, { ...LIMITED, rule: { maxFailures: 10 } });
      const wait = next.outcome === "limited" ? next.wait : 0;
      t.ok(wait > 0 && wait <= MINUTE, `the wait is ${wait} ms`);
      t.notOk(made);
      t.same(await limiter(newIdentity(), succeeds), SUCCEEDED, "another identity is not limited");
    });

    t.test("only ten of fifty concurrent attempts run", async (t) => {
      const identity = newIdentity();
      let made = 0;
      const tries = Array.from({ length: 50 }, () =>
        limiter(identity, async () => {
          made += 1;
          return undefined;
        }),
      );
      const attempts = await Promise.all(tries);
      t.equal(made, 10);
      t.equal(attempts.filter(({ outcome }) => outcome === "limited").length, 40);
    });

    t.test("a successful attempt does not count", async (t) => {
      const identity = newIdentity();
      await failTimes(limiter, identity, 9);
      for (let count = 0; count < 5; count++) t.same(await limiter(identity, succeeds), SUCCEEDED);
      await limiter(identity, fails);
      t.match(await limiter(identity, succeeds), LIMITED);
    });

    t.test("fifty concurrent successful attempts are all allowed", async (t) => {
      const identity = newIdentity();
      const attempts = await Promise.all(Array.from({ length: 50 }, () => limiter(identity, succeeds)));
      t.ok(
        attempts.every(({ outcome }) => outcome === "made"),
        "none of them is limited",
      );
    });

    t.test("an attempt that throws does not count, and its error is rethrown", async (t) => {
      const identity = newIdentity();
      await failTimes(limiter, identity, 9);
      const broken = async () => {
        throw new Error("no database");
      };
      for (let count = 0; count < 5; count++) await t.rejects(limiter(identity, broken), /^no database$/);
      t.same(await limiter(identity, succeeds), SUCCEEDED);
    });

    t.test("identities with the same concatenated or reordered parts are counted separately", async (t) => {
      const [one, other] = [randomUUID(), randomUUID()];
      await failTimes(limiter, [one, other], 10);
      t.same(await limiter([one + other, ""], succeeds), SUCCEEDED);
      t.same(await limiter([other, one], succeeds), SUCCEEDED);
    });
  });

t.test("two processes share their counts", async (t) => {
  const address = await allocateRedisDatabase();
  const openLimiter = async () => createSignInRuleLimiter(await connectRedis(t, address), PAIR_RULE);
  const [one, other] = [await openLimiter(), await openLimiter()];
  const identity = newIdentity();
  await failTimes(one, identity, 5);
  await failTimes(other, identity, 5);
  for (const limiter of [one, other]) t.match(await limiter(identity, succeeds), LIMITED);
});
