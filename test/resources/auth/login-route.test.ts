import t from "tap";
import { loginRoute } from "../../../src/resources/auth/login-route.ts";
import type { AttemptLimiter } from "../../../src/security/attempt-limiter.ts";
import { createConsoleCookie } from "../../../src/security/console-cookie.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { createFastPasswords } from "../../fixtures/tenants/passwords.ts";

t.test("a login during overload gets 503 and does not count as a failed attempt", async (t) => {
  const results: unknown[] = [];
  const limitAttempts: AttemptLimiter = async (_, attempt) => {
    const result = await attempt();
    results.push(result);
    return { outcome: "made", result };
  };
  const passwords = { ...createFastPasswords(), check: async () => ({ outcome: "overloaded" }) as const };
  const cookie = createConsoleCookie("http://localhost");
  const api = await startApi(t, {
    routes: (db) => [loginRoute({ db, passwords, limitAttempts, cookie, issue: async () => "token" })],
  });
  const reply = await api.call("POST", "/api/auth/login", {
    json: { email: "a@example.com", password: "x" },
  });
  t.equal(reply.status, 503);
  t.match(reply.body, { error: "overloaded", message: /please try again$/ });
  t.equal(reply.headers.get("retry-after"), "5");
  t.same(results, ["overloaded"], "the limiter counts only an undefined result as a failure");
});
