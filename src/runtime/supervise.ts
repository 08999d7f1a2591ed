import { within } from "./async/with-timeout.ts";
import { SECOND } from "./durations.ts";
import type { Log } from "./logging/log.ts";

/**
 * A named part of a process. `start` resolves when it is ready for work; `close` when its work is done or handed back.
 * A worker that dies in between calls `fail`, which ends the process: its manager starts a fresh one.
 */
export interface Worker {
  name: string;
  start?(lifecycle: { fail(error: unknown): void }): Promise<void> | void;
  close?(): Promise<void> | void;
}

export interface Supervision {
  workers: readonly Worker[];
  log: Log;
  onReady?(): void;
  /** Platforms kill 30 s after SIGTERM; what has not closed by then is given up. */
  closeWithin?: number;
}

const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Starts the workers in order, waits for a signal or a failure, closes them in reverse order; answers the exit code. */
export async function supervise({
  workers,
  log,
  onReady,
  closeWithin = 24 * SECOND,
}: Supervision): Promise<number> {
  const began = Date.now();
  const ending = endingOfProcess(log);
  const started: Worker[] = [];
  let end: Ending | undefined;
  for (const worker of workers) {
    started.push(worker);
    end = await Promise.race([ending.happened, startWorker(worker, ending.fail)]);
    if (end) break;
  }
  if (!end) {
    log.info("process.ready", {
      workers: workers.map((worker) => worker.name).join(","),
      ms: Date.now() - began,
    });
    onReady?.();
    end = await ending.happened;
  }
  log.info("process.stopping", end);
  const closed = await closeAll(started.reverse(), log, Date.now() + closeWithin);
  const clean = closed && ending.faults() === 0;
  log.info("process.stopped", { clean, ms: Date.now() - began });
  ending.forget();
  return clean ? 0 : 1;
}

type Ending = { signal: string } | { worker: string };

type Fail = (worker: string, error: unknown) => Promise<Ending>;

async function startWorker(worker: Worker, fail: Fail): Promise<Ending | undefined> {
  try {
    await worker.start?.({ fail: (error) => void fail(worker.name, error) });
    return undefined;
  } catch (error) {
    return fail(worker.name, error);
  }
}

/**
 * The first reason to stop. Signals and faults stay caught until `forget`: a second signal changes nothing, a later
 * fault is logged and counts.
 */
function endingOfProcess(log: Log) {
  let end: (ending: Ending) => void = () => {};
  const happened = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  let faults = 0;
  const fail: Fail = (worker, error) => {
    faults += 1;
    log.error("process.failed", { worker, err: error });
    end({ worker });
    return happened;
  };
  const onSignal = (signal: string) => end({ signal });
  const onFault = (error: unknown) => void fail("(uncaught)", error);
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  process.on("uncaughtException", onFault);
  process.on("unhandledRejection", onFault);
  const forget = () => {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
    process.off("uncaughtException", onFault);
    process.off("unhandledRejection", onFault);
  };
  return { happened, fail, forget, faults: () => faults };
}

async function closeAll(workers: readonly Worker[], log: Log, deadline: number): Promise<boolean> {
  let clean = true;
  for (const worker of workers) {
    const outcome = await closeWorker(worker, deadline);
    if (outcome === "closed") continue;
    clean = false;
    log.error("worker.not_closed", { worker: worker.name, err: outcome });
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
    return await within(remaining, closing, () => new Error(`not closed within ${remaining} ms`));
  } catch (error) {
    return error instanceof Error ? error : new Error("close failed", { cause: error });
  }
}
