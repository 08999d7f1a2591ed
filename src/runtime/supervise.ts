import { pause, withTimeout } from "./async/timeouts-and-retries.ts";
import { PROCESS_CLOSE_TIMEOUT_MS } from "./deadlines.ts";
import { createOutageLogger, type Log } from "./log.ts";
import type { RepeatedWork } from "./log-events.ts";

/**
 * A named part of a process. `start` resolves when it is ready for work; `close` when its work is finished or released.
 * A worker that fails in between calls `fail`, which ends the process; the process manager restarts it.
 */
export interface Worker {
  name: string;
  start?(lifecycle: { fail(error: unknown): void }): Promise<void> | void;
  close?(): Promise<void> | void;
}

export interface SuperviseOptions {
  workers: readonly Worker[];
  log: Log;
  onReady?(): void;
  /** Workers not closed by then are abandoned. Must end before the process manager's SIGKILL 30 s after SIGTERM. */
  closeTimeoutMs?: number;
}

const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Runs a process through starting, ready and stopping, and returns its exit code. Workers start in order; a signal, a
 * failed worker or an uncaught error moves the process to stopping, which closes the workers in reverse order.
 */
export async function supervise({
  workers,
  log,
  onReady,
  closeTimeoutMs = PROCESS_CLOSE_TIMEOUT_MS,
}: SuperviseOptions): Promise<number> {
  const startedAt = Date.now();
  const stopWatch = watchForStop(log);
  const started: Worker[] = [];
  let stopReason: StopReason | undefined;
  for (const worker of workers) {
    started.push(worker);
    stopReason = await Promise.race([stopWatch.stopped, startWorker(worker, stopWatch.fail)]);
    if (stopReason) break;
  }
  if (!stopReason) {
    log.info("process.ready", {
      workers: workers.map((worker) => worker.name).join(","),
      ms: Date.now() - startedAt,
    });
    onReady?.();
    stopReason = await stopWatch.stopped;
  }
  log.info("process.stopping", stopReason);
  const closed = await closeAll(started.reverse(), log, Date.now() + closeTimeoutMs);
  const clean = closed && stopWatch.faults() === 0;
  log.info("process.stopped", { clean, uptime_ms: Date.now() - startedAt });
  stopWatch.dispose();
  return clean ? 0 : 1;
}

type StopReason = { signal: string } | { worker: string };

type Fail = (worker: string, error: unknown) => Promise<StopReason>;

async function startWorker(worker: Worker, fail: Fail): Promise<StopReason | undefined> {
  try {
    await worker.start?.({ fail: (error) => void fail(worker.name, error) });
    return undefined;
  } catch (error) {
    return fail(worker.name, error);
  }
}

/**
 * Resolves `stopped` with the first reason to stop. Signals and faults stay handled until `dispose`: a second signal
 * has no effect, a later fault is logged and makes the exit code 1.
 */
function watchForStop(log: Log) {
  let requestStop: (stopReason: StopReason) => void = () => {};
  const stopped = new Promise<StopReason>((resolve) => {
    requestStop = resolve;
  });
  let faults = 0;
  const fail: Fail = (worker, error) => {
    faults += 1;
    log.error("process.failed", { worker, err: error });
    requestStop({ worker });
    return stopped;
  };
  const onSignal = (signal: string) => requestStop({ signal });
  const onFault = (error: unknown) => void fail("(uncaught)", error);
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  process.on("uncaughtException", onFault);
  process.on("unhandledRejection", onFault);
  const dispose = () => {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
    process.off("uncaughtException", onFault);
    process.off("unhandledRejection", onFault);
  };
  return { stopped, fail, dispose, faults: () => faults };
}

async function closeAll(workers: readonly Worker[], log: Log, deadline: number): Promise<boolean> {
  let clean = true;
  for (const worker of workers) {
    const outcome = await closeWorker(worker, deadline);
    if (outcome === "closed") continue;
    clean = false;
    log.error("worker.close_failed", { worker: worker.name, err: outcome });
  }
  return clean;
}

async function closeWorker(worker: Worker, deadline: number): Promise<"closed" | Error> {
  const remaining = Math.max(0, deadline - Date.now());
  const closing = (async () => {
    await worker.close?.();
    return "closed" as const;
  })();
  try {
    return await withTimeout(remaining, closing, () => new Error(`not closed within ${remaining} ms`));
  } catch (error) {
    return error instanceof Error ? error : new Error("close failed", { cause: error });
  }
}

interface RepeatOptions {
  name: RepeatedWork;
  /** Milliseconds between the end of one run and the start of the next, so that runs never overlap. */
  intervalMs: number;
  /**
   * Resolves to `skipped` when it could not work now: that neither begins nor ends an outage. Resolves to `unfinished` when the
   * next run is to follow at once.
   */
  work(): Promise<unknown>;
  log: Log;
}

/**
 * Runs `work` repeatedly from `start` until `close`, which waits for the current run. A failed run does not stop the
 * repetition; the first failure of an outage and the recovery are logged.
 */
export function repeat({ name, intervalMs, work, log }: RepeatOptions): Worker {
  const outageLogger = createOutageLogger(log, {
    unavailable: `${name}.failed`,
    recovered: `${name}.recovered`,
  });
  const closing = new AbortController();
  let running: Promise<void> = Promise.resolve();
  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      const result = await work().catch((error: unknown) => {
        outageLogger.failed(error);
        return "skipped";
      });
      if (result !== "skipped") outageLogger.recovered();
      if (result !== "unfinished") await pause(intervalMs, closing.signal);
    }
  }
  return {
    name,
    start() {
      running = run();
    },
    async close() {
      closing.abort();
      await running;
    },
  };
}
