import { SECOND } from "./durations.ts";
import type { Log } from "./log.ts";
import { within } from "./within.ts";

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
  const ending = endingOfProcess();
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
  if (end.error === undefined) log.info("process.stopping", { signal: end.signal });
  else log.error("process.failed", { worker: end.worker, err: end.error });
  const closed = await closeAll(started.reverse(), log, Date.now() + closeWithin);
  ending.forget();
  log.info("process.stopped", { clean: closed && end.error === undefined, ms: Date.now() - began });
  return closed && end.error === undefined ? 0 : 1;
}

interface Ending {
  signal?: string;
  worker?: string;
  error?: unknown;
}

async function startWorker(worker: Worker, fail: (end: Ending) => void): Promise<Ending | undefined> {
  try {
    await worker.start?.({ fail: (error) => fail({ worker: worker.name, error }) });
    return undefined;
  } catch (error) {
    return { worker: worker.name, error };
  }
}

/** The first reason to stop. Signals stay caught until `forget`, so that a second one changes nothing. */
function endingOfProcess() {
  let fail: (end: Ending) => void = () => {};
  const happened = new Promise<Ending>((resolve) => {
    fail = resolve;
  });
  const onSignal = (signal: string) => fail({ signal });
  const onFault = (error: unknown) => fail({ worker: "(uncaught)", error });
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  process.on("uncaughtException", onFault);
  process.on("unhandledRejection", onFault);
  const forget = () => {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
    process.off("uncaughtException", onFault);
    process.off("unhandledRejection", onFault);
  };
  return { happened, fail, forget };
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
