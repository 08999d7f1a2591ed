import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { createUser } from "../../src/domain/tenants/users.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { createClient } from "../../src/store/tenants/clients.ts";
import { watchProcessorShare } from "../fixtures/hostile/processor-share.ts";
import { sharedHostileService } from "../fixtures/hostile/service.ts";
import { makeActor } from "../fixtures/tenants/actors.ts";
import { createFastPasswords } from "../fixtures/tenants/passwords.ts";
import { until } from "../fixtures/until.ts";

const ATTACKERS = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
/** More than the checks of one address that may wait. */
const CONNECTIONS_PER_ATTACKER = 30;
const REPEAT_AFTER_MS = 200;
/** 2 s on an idle machine; without turns it would wait for the whole queue. The bound grows with the time that others take. */
const MAX_SIGN_IN_MS = 10 * SECOND;

t.test("an attack on sign-in does not lock out a user who has signed in before", async (t) => {
  const { db, web, address: origin, call } = await sharedHostileService();
  const testStartedAt = new Date().toISOString();
  const { id } = await createClient(db, "A client");
  const user = { email: `${randomBytes(6).toString("hex")}@example.com`, password: "the right password" };
  // The user's own checks are cheap; those of the attackers, who name no user, have the cost of the product.
  const parts = { db, passwords: createFastPasswords() };
  await createUser(parts, makeActor(id), { ...user, name: "Ann", role: "member" });
  const signIn = async (address: string, json: object) =>
    (await call("POST", "/api/auth/login", { json, headers: { "x-forwarded-for": address } })).status;

  const homes = ["203.0.113.1", ATTACKERS[0] as string];
  for (const home of homes) t.equal(await signIn(home, user), 200);

  const answers = new Map<number, number>();
  const end = new AbortController();
  /** Disconnects at the end, which cancels the checks that wait: they would take seconds. */
  const attackOnce = (address: string) =>
    fetch(`${origin}/api/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": address },
      body: JSON.stringify({ email: `${randomBytes(6).toString("hex")}@example.com`, password: "wrong" }),
      signal: end.signal,
    });
  const attack = ATTACKERS.flatMap((address) =>
    Array.from({ length: CONNECTIONS_PER_ATTACKER }, async () => {
      while (!end.signal.aborted) {
        const reply = await attackOnce(address);
        await reply.text();
        const { status } = reply;
        answers.set(status, (answers.get(status) ?? 0) + 1);
        // The connections whose check has ended keep the queue full; more refusals would only use processor time.
        if (status === 503) await sleep(REPEAT_AFTER_MS, undefined, { signal: end.signal });
      }
    }),
  );
  await until("the queue of checks is full", () => (answers.get(503) ?? 0) > 0);
  const signInInTime = async (home: string) => {
    const startedAt = performance.now();
    const processorShare = watchProcessorShare();
    t.equal(await signIn(home, user), 200, home);
    const ms = Math.round(performance.now() - startedAt);
    t.ok(ms < MAX_SIGN_IN_MS / processorShare(), `the sign-in from ${home} takes ${ms} ms`);
  };
  await Promise.all(homes.map(signInInTime));
  end.abort();
  const faults = (await Promise.allSettled(attack)).flatMap((one) =>
    "reason" in one ? [one.reason.name] : [],
  );
  t.same(new Set(faults), new Set(["AbortError"]), "every attacker attacked until the end");
  t.notOk(
    // Lines of other files have an earlier time; some of those are errors.
    web.lines().find(({ level, time }) => level === "error" && String(time) >= testStartedAt),
    "refusals are no errors",
  );
});
