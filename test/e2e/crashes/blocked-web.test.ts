import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { until } from "../../fixtures/until.ts";

const PRELOAD = pathToFileURL(join(packageRoot(), "dist/test/fixtures/processes/block-on-word.js"));

/** cluster.test.ts tests that each fork has a watchdog and that a killed fork is replaced. */
t.test("a web process whose event loop is blocked names its request and is killed", async (t) => {
  const web = await startWeb(t, await testSettings(t, { NODE_OPTIONS: `--import=${PRELOAD}` }));
  const login = fetch(`${web.address}/api/auth/login`, {
    method: "POST",
    headers: { "x-request-id": "blocking-request" },
    body: JSON.stringify({ email: "block-the-event-loop@example.com", password: "secret-password" }),
  }).catch(() => undefined);

  t.equal(await web.ended(), "SIGKILL");
  t.equal(await login, undefined, "its connection is closed");
  const text = await until("the line has arrived", () => web.stderr().match(/^\{.*\}$/m)?.[0]);
  t.match(JSON.parse(text), {
    level: "error",
    process: "web",
    event: "process.blocked",
    current: "POST /api/auth/login blocking-request",
    in_progress: "POST /api/auth/login blocking-request",
    count: 1,
    seconds: 10,
  });
  t.notMatch(web.stdout() + web.stderr(), /secret-|example\.com/);
});
