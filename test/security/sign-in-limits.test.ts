import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import type { RedisClient } from "../../src/queue/redis.ts";
import { HOUR, MINUTE } from "../../src/runtime/durations.ts";
import { createSignInLimiter, type SignInLimiter } from "../../src/security/sign-in-limits.ts";
import { connectRedis, openProducer } from "../fixtures/servers/redis.ts";

const newEmail = () => `${randomUUID()}@example.com`;
const newNetwork = () => `network ${randomUUID()}`;

interface Try {
  network?: string;
  email?: string;
  isKnown?: boolean;
  result?: string | undefined;
}

const tryPassword = (
  limiter: SignInLimiter,
  { network = newNetwork(), email = newEmail(), isKnown = false, result }: Try,
) => limiter({ network, email, isKnown: async () => isKnown, run: async () => result });

async function failTimes(limiter: SignInLimiter, times: number, attempt: Try): Promise<void> {
  for (let count = 0; count < times; count++) {
    const { outcome } = await tryPassword(limiter, attempt);
    if (outcome === "limited") throw new Error(`failure ${count + 1} was limited`);
  }
}

const SUCCEEDED = { outcome: "made", result: "in" };

const STORES: Record<string, (t: Test) => Promise<RedisClient>> = {
  "in Redis": connectRedis,
  "in the process while Redis is unavailable": async (t) => openProducer(t),
};

for (const [place, open] of Object.entries(STORES))
  t.test(`failures are counted ${place}`, async (t) => {
    const limiter = createSignInLimiter(await open(t));

    t.test("a network and an email together may fail ten times in a minute", async (t) => {
      const pair = { network: newNetwork(), email: newEmail() };
      await failTimes(limiter, 10, pair);
      for (const isKnown of [false, true]) {
        const next = await tryPassword(limiter, { ...pair, isKnown, result: "in" });
        t.match(next, { outcome: "limited", rule: { maxFailures: 10, periodMs: MINUTE } });
      }
    });

    t.test("an email may fail a hundred times in an hour from all networks, known ones aside", async (t) => {
      const email = newEmail();
      await failTimes(limiter, 100, { email });
      const next = await tryPassword(limiter, { email: email.toUpperCase(), result: "in" });
      t.match(next, { outcome: "limited", rule: { maxFailures: 100, periodMs: HOUR } });
      t.same(await tryPassword(limiter, { email, isKnown: true, result: "in" }), SUCCEEDED);
      t.same(await tryPassword(limiter, { result: "in" }), SUCCEEDED, "another email is not limited");
    });

    t.test("a network may fail a hundred times in a minute over all emails, known ones aside", async (t) => {
      const network = newNetwork();
      await failTimes(limiter, 100, { network });
      const next = await tryPassword(limiter, { network, result: "in" });
      t.match(next, { outcome: "limited", rule: { maxFailures: 100, periodMs: MINUTE } });
      t.same(await tryPassword(limiter, { network, isKnown: true, result: "in" }), SUCCEEDED);
      t.same(await tryPassword(limiter, { result: "in" }), SUCCEEDED, "another network is not limited");
    });

    t.test("an attempt that one rule refuses counts for no other rule", async (t) => {
      const network = newNetwork();
      await failTimes(limiter, 100, { network });
      const email = newEmail();
      for (let count = 0; count < 20; count++) await tryPassword(limiter, { network, email });
      t.same(await tryPassword(limiter, { network, email, isKnown: true, result: "in" }), SUCCEEDED);
    });

    t.test("successes do not count", async (t) => {
      const [network, email] = [newNetwork(), newEmail()];
      for (let count = 0; count < 120; count++) {
        t.same(await tryPassword(limiter, { network, result: "in" }), SUCCEEDED);
        t.same(await tryPassword(limiter, { email, result: "in" }), SUCCEEDED);
      }
    });
  });
