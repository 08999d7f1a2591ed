import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import t from "tap";
import { loginRoute } from "../../../src/resources/auth/login-route.ts";
import { createConsoleCookie } from "../../../src/security/console-cookie.ts";
import { type CheckOutcome, createPasswords, type Passwords } from "../../../src/security/passwords.ts";
import type { SignInLimiter } from "../../../src/security/sign-in-limits.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { makeTenant, PASSWORD } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const someEmail = () => `${randomBytes(6).toString("hex")}@example.com`;

/** A sign-in from an address behind one trusted proxy. */
const signIn = (api: Api, address: string, { email = someEmail(), password = "wrong" } = {}) =>
  api.call("POST", "/api/auth/login", {
    json: { email, password },
    headers: { "x-forwarded-for": address },
  });

/** Fails this many sign-ins, a few at a time: one address may have 25 in the queue. */
async function failTimes(times: number, attempt: (count: number) => ReturnType<typeof signIn>) {
  for (let count = 0; count < times; count += 10)
    for (const { status } of await Promise.all(
      Array.from({ length: Math.min(10, times - count) }, (_, index) => attempt(count + index)),
    ))
      if (status !== 401) throw new Error(`a failed sign-in got ${status}`);
}

for (const [condition, settings] of [
  ["with Redis", {}],
  ["without Redis", { REDIS_URL: "redis://127.0.0.1:1" }],
] as const)
  t.test(`sign-in limits ${condition}`, async (t) => {
    const api = await startApi(t, { settings: { TRUST_PROXY: "1", ...settings } });
    const tenant = await makeTenant(api);
    const [person, other] = [await tenant.createUser("member"), await tenant.createUser("member")];
    const right = { email: person.email, password: PASSWORD };

    t.test("an address fails at most a hundred times in a minute over all emails", async (t) => {
      const address = "192.0.2.1";
      t.equal((await signIn(api, address, right)).status, 200);
      await failTimes(100, () => signIn(api, address));
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
      await failTimes(100, (count) => signIn(api, `198.51.100.${count}`, { email: person.email }));
      const refused = await signIn(api, "203.0.113.1", right);
      t.equal(refused.status, 429);
      t.match(refused.body, { error: "rate_limited", message: /100 failed attempts in an hour/ });
      const wait = Number(refused.headers.get("retry-after"));
      t.ok(wait > 60 && wait <= 3_600, `Retry-After is ${wait}`);
      t.equal((await signIn(api, home, right)).status, 200, "an address of an earlier sign-in is exempt");
    });

    t.test("the addresses of an IPv6 /64 count as one", async (t) => {
      const { email } = await tenant.createUser("member");
      await failTimes(10, (count) => signIn(api, `2001:db8:0:1::${count}`, { email }));
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

t.test("waiting checks of callers who disconnect are cancelled and do not count", async (t) => {
  const real = createPasswords();
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
  const limitAttempts: SignInLimiter = async ({ run }) => {
    const result = await run();
    if (result === undefined) failures.push(result);
    return { outcome: "made", result };
  };
  const parts = { limitAttempts, cookie: createConsoleCookie("http://x") };
  const api = await startApi(t, {
    routes: (db) => [
      loginRoute({ db, passwords, ...parts, issue: async () => "token", log: captureLog().log }),
    ],
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
  await until("all checks are over", () => outcomes.length === 20);
  const cancelled = outcomes.filter((outcome) => outcome === "cancelled").length;
  t.ok(cancelled >= 10, `${cancelled} of 20 checks were cancelled`);
  t.equal(failures.length, 20 - cancelled, "a cancelled check does not count as a failure");
  t.notOk(api.lines.find(({ level }) => level === "error"));
});
