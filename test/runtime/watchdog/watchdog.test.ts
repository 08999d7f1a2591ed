import t from "tap";
import { createWatchdog } from "../../../src/runtime/watchdog/watchdog.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { until } from "../../fixtures/until.ts";

const settings = { LOG_LEVEL: "info", LOG_FORMAT: "json" } as const;
const fail = (error: unknown) => void t.fail(`the watchdog failed the process: ${error}`);

t.test("the thread runs from start to close", async (t) => {
  const { log, events } = captureLog();
  const watchdog = createWatchdog({ settings, process: "test", log });
  await watchdog.start?.({ fail });
  await until("the thread runs", () => events().includes("watchdog.started"));
  await watchdog.close?.();
  t.same(events(), ["watchdog.started"]);
});

t.test("a watchdog that is closed at once logs no failure", async (t) => {
  const { log, events } = captureLog();
  const watchdog = createWatchdog({ settings, process: "test", log });
  await watchdog.start?.({ fail });
  await watchdog.close?.();
  t.notOk(events().includes("watchdog.failed"));
});

t.test("a thread that cannot start is one warning, and its process goes on", async (t) => {
  const { log, lines } = captureLog();
  const watchdog = createWatchdog({ settings, process: "test", log, file: "/nonexistent/watchdog.js" });
  await watchdog.start?.({ fail });
  await until("the warning is logged", () => lines.length > 0);
  watchdog.tracker.begin("job tokens").end();
  await watchdog.close?.();
  t.match(lines, [{ level: "warn", event: "watchdog.failed", err: /nonexistent/ }]);
  t.equal(lines.length, 1);
});
