import crypto, { randomBytes } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { connect } from "node:net";
import type { Test } from "tap";
import t from "tap";
import { loginRoute } from "../../../src/resources/auth/routes.ts";
import { createConsoleCookie } from "../../../src/security/console-cookie.ts";
import type { CheckOutcome, Passwords } from "../../../src/security/passwords.ts";
import { createSignInLimiter, type SignInLimiter } from "../../../src/security/sign-in-limits.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { connectRedis, openProducer } from "../../fixtures/servers/redis.ts";
import { createFastPasswords } from "../../fixtures/tenants/passwords.ts";
import { makeTenant, PASSWORD } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const someEmail = () => `${randomBytes(6).toString("hex")}@example.com`;

/** A sign-in from an address behind one trusted proxy. */
const signIn = (api: Api, address: string, { email = someEmail(), password = "wrong" } = {}) =>
  api.call("POST", "/api/auth/login", {
    json: { email, password },
    headers: { "x-forwarded-for": address },
  });

/** Failures of each rule that go through the API; the limiter counts those before them without it. */
const API_FAILURES = 5;

interface Attempt {
  network: string;
  email: string;
}

/** Fails up to the rule's hundred attempts: a hundred sign-ins would take longer than the rule's minute. */
async function failHundredTimes(limiter: SignInLimiter, api: Api, attemptOf: (count: number) => Attempt) {
  for (let count = 0; count < 100 - API_FAILURES; count++)
    await limiter({ ...attemptOf(count), isKnown: async () => false, run: async () => undefined });
  for (let count = 100 - API_FAILURES; count < 100; count++) {
    const { network, email } = attemptOf(count);
    const { status } = await signIn(api, network, { email });
    if (status !== 401) throw new Error(`a failed sign-in got ${status}`);
  }
}

for (const condition of ["with Redis", "without Redis"])
  t.test(`sign-in limits ${condition}`, async (t) => {
    const redis = condition === "with Redis" ? await connectRedis(t) : openProducer(t);
    const limitSignIns = createSignInLimiter(redis);
    const api = await startApi(t, { settings: { TRUST_PROXY: "1" }, limitSignIns });
    const tenant = await makeTenant(api);
    const [person, other] = [await tenant.createUser("member"), await tenant.createUser("member")];
    const right = { email: person.email, password: PASSWORD };

    t.test("an address fails at most a hundred times in a minute over all emails", async (t) => {
      const address = "192.0.2.1";
      t.equal((await signIn(api, address, right)).status, 200);
      await failHundredTimes(limitSignIns, api, () => ({ network: address, email: someEmail() }));
      const refused = await signIn(api, address, { email: other.email, password: PASSWORD });
      t.equal(refused.status, 429);
      t.match(refused.body, { error: "rate_limited", message: /100 failed attempts in a minute/ });
      t.ok(Number(refused.headers.get("retry-after")) <= 60);
      t.equal((await signIn(api, address, right)).status, 200, "a user known at this address signs in");
      t.equal((await signIn(api, "192.0.2.2")).status, 401, "another address is not limited");
    });

    t.test("an email fails at most a hundred times in an hour from all addresses", async (t) => {
      const home = "192.0.2.3";
      t.equal((await signIn(api, home, right)).status, 200);
      const { email } = person;
      await failHundredTimes(limitSignIns, api, (count) => ({ network: `198.51.100.${count}`, email }));
      const refused = await signIn(api, "203.0.113.1", right);
      t.equal(refused.status, 429);
      t.match(refused.body, { error: "rate_limited", message: /100 failed attempts in an hour/ });
      const wait = Number(refused.headers.get("retry-after"));
      t.ok(wait > 60 && wait <= 3_600, `Retry-After is ${wait}`);
      t.equal((await signIn(api, home, right)).status, 200, "an address of an earlier sign-in is exempt");
    });

    t.test("the addresses of an IPv6 /64 count as one", async (t) => {
      const { email } = await tenant.createUser("member");
      for (let count = 0; count < 10; count++)
        t.equal((await signIn(api, `2001:db8:0:1::${count}`, { email })).status, 401);
      t.equal((await signIn(api, "2001:db8:0:1:ffff::1", { email })).status, 429);
      t.equal((await signIn(api, "2001:db8:0:2::1", { email })).status, 401);
    });

    t.test("a refusal is an info line without a stack", async (t) => {
      const refusals = api.lines.filter(({ event, status }) => event === "http.request" && status === 429);
      t.ok(refusals.length > 0);
      for (const line of refusals) t.match(line, { level: "info", error: "rate_limited", err: undefined });
      t.notOk(api.lines.find(({ event }) => event === "http.failed"));
    });
  });

/** Holds every computation of a password hash until the returned function is called. */
function holdHashes(t: Test): () => void {
  const { scrypt } = crypto;
  const held: (() => void)[] = [];
  const replace = (replacement: unknown) => {
    Object.assign(crypto, { scrypt: replacement });
    syncBuiltinESMExports(); // modules import the function by its name
  };
  t.teardown(() => replace(scrypt));
  replace((...args: Parameters<typeof scrypt>) => void held.push(() => scrypt(...args)));
  return () => {
    replace(scrypt);
    for (const run of held) run();
  };
}

/** Checks of passwords that run at a time; the others wait. */
const RUNNING_CHECKS = 1;

t.test("waiting checks of callers who disconnect are cancelled and do not count", async (t) => {
  const release = holdHashes(t);
  const real = createFastPasswords();
  const outcomes: CheckOutcome["outcome"][] = [];
  let started = 0;
  const passwords: Passwords = {
    ...real,
    async check(...args) {
      started += 1;
      const checked = await real.check(...args);
      outcomes.push(checked.outcome);
      return checked;
    },
  };
  const failures: unknown[] = [];
  const limitSignIns: SignInLimiter = async ({ run }) => {
    const result = await run();
    if (result === undefined) failures.push(result);
    return { outcome: "made", result };
  };
  const parts = { limitSignIns, cookie: createConsoleCookie("http://x") };
  const api = await startApi(t, {
    routes: () => [loginRoute({ passwords, ...parts, issue: async () => "token", log: captureLog().log })],
  });
  const { port } = new URL(api.address);
  const sockets = Array.from({ length: 20 }, () => {
    const body = JSON.stringify({ email: someEmail(), password: "wrong" });
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(`POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    return socket;
  });
  await until("all checks wait or run", () => started === 20);
  for (const socket of sockets) socket.destroy();
  const cancelled = () => outcomes.filter((outcome) => outcome === "cancelled").length;
  await until("the waiting checks are cancelled", () => cancelled() === 20 - RUNNING_CHECKS);
  release();
  await until("all checks are over", () => outcomes.length === 20);
  t.equal(cancelled(), 20 - RUNNING_CHECKS);
  await until("the failures are counted", () => failures.length === RUNNING_CHECKS);
  t.notOk(api.lines.find(({ level }) => level === "error"));
});
