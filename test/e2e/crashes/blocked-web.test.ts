import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { freePort } from "../../../src/local/server-process.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { until } from "../../fixtures/until.ts";

const PRELOAD = pathToFileURL(join(packageRoot(), "dist/test/fixtures/processes/block-on-word.js"));

t.test(
  "a fork of web whose event loop is blocked names its request, is killed and is replaced",
  async (t) => {
    const PORT = String(await freePort());
    const settings = await testSettings(t, {
      PORT,
      WEB_CONCURRENCY: "2",
      NODE_OPTIONS: `--import=${PRELOAD}`,
    });
    const web = startProcess(t, "web", settings);
    await until("ready", () => web.lines().find((line) => line.workers === "watchdog,metrics,forks"));
    const login = fetch(`http://127.0.0.1:${PORT}/api/auth/login`, {
      method: "POST",
      headers: { "x-request-id": "blocking-request" },
      body: JSON.stringify({ email: "block-the-event-loop@example.com", password: "secret-password" }),
    }).catch(() => undefined);

    const exited = () => web.lines().find((line) => line.event === "fork.exited");
    t.match(await until("the fork is killed", exited, 90_000), { signal: "SIGKILL" });
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
    const listening = () => web.lines().filter((line) => line.event === "http.listening").length;
    await until("the fork is replaced", () => listening() === 3);
    t.equal((await fetch(`http://127.0.0.1:${PORT}/healthz`)).status, 200);
    t.equal(await web.stop(), 0);
  },
);
