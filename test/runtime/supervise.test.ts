import t from "tap";
import { HOUR } from "../../src/runtime/durations.ts";
import { repeat, supervise, type Worker } from "../../src/runtime/supervise.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { until } from "../fixtures/until.ts";

/** Workers that record their start and close calls. */
function recordingWorkers(names: readonly string[]): { workers: Worker[]; calls: string[] } {
  const calls: string[] = [];
  const workers = names.map((name) => ({
    name,
    start: async () => void calls.push(`start ${name}`),
    close: async () => void calls.push(`close ${name}`),
  }));
  return { workers, calls };
}

t.test("workers start in order and close in reverse order; a second signal has no effect", async (t) => {
  const { workers, calls } = recordingWorkers(["database", "queue", "http"]);
  const { log, events } = captureLog();
  const ended = supervise({ workers, log });
  await until("ready", () => events().includes("process.ready"));
  process.emit("SIGTERM", "SIGTERM");
  process.emit("SIGTERM", "SIGTERM");
  t.equal(await ended, 0);
  t.same(calls, [
    "start database",
    "start queue",
    "start http",
    "close http",
    "close queue",
    "close database",
  ]);
});

t.test("a worker that fails to start ends the process, and the started workers are closed", async (t) => {
  const { workers, calls } = recordingWorkers(["database", "http"]);
  const { log, lines } = captureLog();
  const broken: Worker = { name: "broken", start: () => Promise.reject(new Error("no")) };
  t.equal(await supervise({ workers: [workers[0] as Worker, broken, workers[1] as Worker], log }), 1);
  t.same(calls, ["start database", "close database"]);
  t.match(
    lines.find((line) => line.event === "process.failed"),
    { worker: "broken", err: "no" },
  );
});

t.test("a worker that fails after its start ends the process and closes the workers", async (t) => {
  const { workers, calls } = recordingWorkers(["database"]);
  const { log } = captureLog();
  const failing: Worker = { name: "queue", start: ({ fail }) => void setImmediate(fail, new Error("gone")) };
  t.equal(await supervise({ workers: [...workers, failing], log }), 1);
  t.same(calls, ["start database", "close database"]);
});

t.test("a worker that does not close in time is logged and abandoned", async (t) => {
  const { workers, calls } = recordingWorkers(["database"]);
  const { log, lines, events } = captureLog();
  const stuck: Worker = { name: "stuck", close: () => new Promise(() => {}) };
  const ended = supervise({ workers: [...workers, stuck], log, closeTimeoutMs: 50 });
  await until("ready", () => events().includes("process.ready"));
  process.emit("SIGINT", "SIGINT");
  t.equal(await ended, 1);
  t.match(
    lines.find((line) => line.event === "worker.close_failed"),
    { worker: "stuck" },
  );
  t.same(calls, ["start database", "close database"]);
});

t.test("a fault during shutdown is logged and makes the exit code 1", async (t) => {
  const { log, lines, events } = captureLog();
  let fail: (error: unknown) => void = () => {};
  const worker: Worker = {
    name: "queue",
    start(lifecycle) {
      fail = lifecycle.fail;
    },
    close: () => fail(new Error("too late")),
  };
  const ended = supervise({ workers: [worker], log });
  await until("ready", () => events().includes("process.ready"));
  process.emit("SIGTERM", "SIGTERM");
  t.equal(await ended, 1);
  t.match(
    lines.find((line) => line.event === "process.failed"),
    { err: "too late" },
  );
});

t.test("a signal during a slow start stops the process", async (t) => {
  const { log } = captureLog();
  const slow: Worker = { name: "slow", start: () => new Promise(() => {}) };
  const ended = supervise({ workers: [slow], log });
  process.emit("SIGTERM", "SIGTERM");
  t.equal(await ended, 0);
});

t.test("unfinished work goes on without a pause", async (t) => {
  const { log } = captureLog();
  const results = ["unfinished", "unfinished", "finished"];
  let runs = 0;
  const work = async () => results[runs++];
  const worker = repeat({ name: "breaker_check", intervalMs: HOUR, work, log });
  await worker.start?.({ fail: (error) => void t.fail(`the worker failed: ${error}`) });
  await until("the work is finished", () => runs === results.length);
  await worker.close?.();
  t.equal(runs, results.length);
});

t.test("work that is skipped neither begins nor ends an outage", async (t) => {
  const { log, lines, events } = captureLog();
  const results = ["skipped", new Error("away"), "skipped", new Error("still away"), "done", "skipped"];
  let runs = 0;
  const work = async () => {
    const result = results[runs++];
    if (result instanceof Error) throw result;
    return result;
  };
  const worker = repeat({ name: "breaker_check", intervalMs: 1, work, log });
  await worker.start?.({ fail: (error) => void t.fail(`the worker failed: ${error}`) });
  await until("all results are used", () => runs > results.length);
  await worker.close?.();
  t.same(events(), ["breaker_check.failed", "breaker_check.recovered"]);
  t.match(lines[0], { err: "away" });
});
