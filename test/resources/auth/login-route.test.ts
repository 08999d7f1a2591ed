import t from "tap";
import { loginRoute } from "../../../src/resources/auth/routes.ts";
import { createConsoleCookie } from "../../../src/security/console-cookie.ts";
import type { SignInLimiter } from "../../../src/security/sign-in-limits.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { createFastPasswords } from "../../fixtures/tenants/passwords.ts";

t.test("a login during overload gets 503 and does not count as a failed attempt", async (t) => {
  const results: unknown[] = [];
  const limitSignIns: SignInLimiter = async ({ run }) => {
    const result = await run();
    results.push(result);
    return { outcome: "made", result };
  };
  const passwords = { ...createFastPasswords(), check: async () => ({ outcome: "overloaded" }) as const };
  const cookie = createConsoleCookie("http://localhost");
  const api = await startApi(t, {
    routes: () => [
      loginRoute({
        passwords,
        limitSignIns,
        cookie,
        issue: async () => "token",
        log: captureLog().log,
      }),
    ],
  });
  const reply = await api.call("POST", "/api/auth/login", {
    json: { email: "a@example.com", password: "x" },
  });
  t.equal(reply.status, 503, "an unknown email costs a password check too");
  t.match(reply.body, { error: "overloaded", message: /please try again$/ });
  t.equal(reply.headers.get("retry-after"), "5");
  t.same(results, [{ outcome: "overloaded" }], "the limiter counts only an undefined result as a failure");
  const [line] = api.lines.filter(({ event }) => event === "http.request");
  t.match(line, { level: "info", status: 503, error: "overloaded" });
  t.notOk(
    api.lines.find(({ event, level }) => event === "http.failed" || level === "error"),
    "a refusal is no error",
  );
});
