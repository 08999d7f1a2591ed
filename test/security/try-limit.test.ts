import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { awaitConnection, connectProducer } from "../../src/queue/redis.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { createTryLimit, type TryLimit } from "../../src/security/try-limit.ts";
import { keptLog } from "../fixtures/captured-log.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import { ownRedis } from "../fixtures/servers/servers.ts";

async function limitOn(t: Test, REDIS_URL: string): Promise<TryLimit> {
  const redis = connectProducer(readConfig({ ...unconnectedSettings(), REDIS_URL }), keptLog().log);
  t.teardown(() => redis.disconnect());
  await awaitConnection(redis, 1_000);
  return createTryLimit(redis);
}

const somebody = () => ["192.0.2.1", `${randomUUID()}@example.com`];
const fails = async () => undefined;
const succeeds = async () => "in";

async function failTimes(limit: TryLimit, who: readonly string[], times: number): Promise<void> {
  for (let count = 0; count < times; count++) await limit(who, fails);
}

const PLACES: Record<string, () => Promise<string>> = {
  "in Redis": ownRedis,
  "in the process while Redis is away": async () => "redis://127.0.0.1:1",
};

for (const [place, address] of Object.entries(PLACES))
  t.test(`tries are counted ${place}`, async (t) => {
    const limit = await limitOn(t, await address());

    t.test("ten may fail, and the next is refused without being made", async (t) => {
      const who = somebody();
      await failTimes(limit, who, 10);
      let made = false;
      const next = limit(who, async () => {
        made = true;
        return "in";
      });
      const refusal = await next.catch((error: unknown) => error as { headers: Record<string, string> });
      t.match(refusal, { code: "rate_limited" });
      const wait = Number((refusal as { headers: Record<string, string> }).headers["Retry-After"]);
      t.ok(wait >= 1 && wait <= 60, `Retry-After is ${wait}`);
      t.notOk(made);
      t.equal(await limit(somebody(), succeeds), "in", "somebody else is not held up");
    });

    t.test("of fifty at once only ten are made", async (t) => {
      const who = somebody();
      let made = 0;
      const tries = Array.from({ length: 50 }, () =>
        limit(who, async () => {
          made += 1;
          return undefined;
        }),
      );
      const outcomes = await Promise.allSettled(tries);
      t.equal(made, 10);
      t.equal(outcomes.filter(({ status }) => status === "rejected").length, 40);
    });

    t.test("a success gives its try back", async (t) => {
      const who = somebody();
      await failTimes(limit, who, 9);
      for (let count = 0; count < 5; count++) t.equal(await limit(who, succeeds), "in");
      await limit(who, fails);
      await t.rejects(limit(who, succeeds), { code: "rate_limited" });
    });

    t.test("many right ones at once do not lock their owner out", async (t) => {
      const who = somebody();
      const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => limit(who, succeeds)));
      t.ok(
        outcomes.every(({ status }) => status === "fulfilled"),
        "none of them has failed",
      );
    });

    t.test("a fault of ours gives it back too, and is thrown on", async (t) => {
      const who = somebody();
      await failTimes(limit, who, 9);
      const broken = async () => {
        throw new Error("no database");
      };
      for (let count = 0; count < 5; count++) await t.rejects(limit(who, broken), /^no database$/);
      t.equal(await limit(who, succeeds), "in");
    });

    t.test("the parts of a name do not run together", async (t) => {
      const [one, other] = [randomUUID(), randomUUID()];
      await failTimes(limit, [one, other], 10);
      t.equal(await limit([one + other, ""], succeeds), "in");
      t.equal(await limit([other, one], succeeds), "in");
    });
  });

t.test("two processes count together", async (t) => {
  const address = await ownRedis();
  const [one, other] = [await limitOn(t, address), await limitOn(t, address)];
  const who = somebody();
  await failTimes(one, who, 5);
  await failTimes(other, who, 5);
  for (const limit of [one, other]) await t.rejects(limit(who, succeeds), { code: "rate_limited" });
});
