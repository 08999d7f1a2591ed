import t from "tap";
import {
  allocateWorkTable,
  createWatchdog,
  createWorkTracker,
  MAX_LABEL_BYTES,
  MAX_TRACKED,
  readWork,
} from "../../src/runtime/watchdog.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { until } from "../fixtures/until.ts";

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

function open() {
  const memory = allocateWorkTable();
  return { tracker: createWorkTracker(memory), read: () => readWork(memory) };
}

t.test("the work in progress is listed with the most recently resumed one first", async (t) => {
  const { tracker, read } = open();
  t.same(read(), { current: undefined, labels: [] });
  const [one, two] = [tracker.begin("job tokens"), tracker.begin("connection con_1")];
  tracker.begin("connection con_2");
  t.same(read(), {
    current: "connection con_2",
    labels: ["connection con_2", "connection con_1", "job tokens"],
  });
  one.resume();
  t.same(read(), { current: "job tokens", labels: ["job tokens", "connection con_2", "connection con_1"] });
  two.end();
  t.same(read(), { current: "job tokens", labels: ["job tokens", "connection con_2"] });
});

t.test("no work is current once the work that was resumed last has ended", async (t) => {
  const { tracker, read } = open();
  tracker.begin("job tokens");
  tracker.begin("connection con_1").end();
  t.same(read(), { current: undefined, labels: ["job tokens"] });
});

t.test("work that has ended affects no later work in its row", async (t) => {
  const { tracker, read } = open();
  const ended = tracker.begin("message msg_1");
  ended.end();
  tracker.begin("message msg_2");
  const last = tracker.begin("message msg_3");
  ended.end();
  ended.resume();
  t.same(read(), { current: "message msg_3", labels: ["message msg_3", "message msg_2"] });
  last.end();
  t.same(read(), { current: undefined, labels: ["message msg_2"] });
});

t.test("work beyond the table's size is not tracked, and work that ended frees its row", async (t) => {
  const { tracker, read } = open();
  const entries = Array.from({ length: MAX_TRACKED }, (_, number) => tracker.begin(`message ${number}`));
  const untracked = tracker.begin("message untracked");
  untracked.resume();
  untracked.end();
  t.equal(read().labels.length, MAX_TRACKED);
  t.equal(read().current, `message ${MAX_TRACKED - 1}`);
  entries[7]?.end();
  tracker.begin("message tracked");
  t.equal(read().current, "message tracked");
  t.equal(read().labels.length, MAX_TRACKED);
  for (const work of entries) work.end();
  t.same(read().labels, ["message tracked"]);
});

t.test("a label that is too long is cut, and leaves nothing in the next entry of its row", async (t) => {
  const { tracker, read } = open();
  const label = `GET /api/events ${"x".repeat(MAX_LABEL_BYTES)}`;
  const work = tracker.begin(label);
  t.equal(read().current, label.slice(0, MAX_LABEL_BYTES));
  work.end();
  tracker.begin("job tokens");
  t.equal(read().current, "job tokens");
});

t.test("tracked work costs a few microseconds at most", async (t) => {
  const { tracker } = open();
  const [ROUNDS, ENTRIES] = [100, 200];
  const measureRound = () => {
    const began = performance.now();
    for (let number = 0; number < ENTRIES; number++) {
      const work = tracker.begin(`POST /api/webhooks/events/{event_id} req_${number}`);
      work.resume();
      work.end();
    }
    return ((performance.now() - began) * 1000) / ENTRIES;
  };
  // The fastest round: other processes interrupt some of them.
  const microseconds = Math.min(...Array.from({ length: ROUNDS }, measureRound));
  t.ok(microseconds < 20, `${microseconds.toFixed(2)} us per entry`);
});
