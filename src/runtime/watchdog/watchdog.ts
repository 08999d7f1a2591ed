import { Worker as Thread } from "node:worker_threads";
import type { Config } from "../config/config.ts";
import { WATCHDOG_INTERVAL_MS, WATCHDOG_LIMIT_MS } from "../deadlines.ts";
import type { Log } from "../logging/log.ts";
import { threadFile } from "../package-root.ts";
import type { Worker } from "../supervise.ts";
import { allocateWorkTable, BEATS, openWorkTable } from "./work-table.ts";
import { createWorkTracker, type WorkTracker } from "./work-tracker.ts";

/**
 * A thread that ends the process when its event loop is blocked, after one log line that names the work in progress.
 * It is watching from `start` until `close`. When it cannot start or fails, it is off: one warning, and the process goes on
 * without it.
 */
export interface Watchdog extends Worker {
  tracker: WorkTracker;
}

/** The data that the thread receives. */
export interface WatchdogThreadData {
  memory: SharedArrayBuffer;
  intervalMs: number;
  limitMs: number;
  /** The log settings of the process. */
  log: Pick<Config, "LOG_LEVEL" | "LOG_FORMAT"> & { process: string };
}

/** Names the thread in the lists of the operating system. */
const THREAD_NAME = "watchdog";

/** Far more than the thread needs; without limits it could use as much memory as the process itself. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 };

interface WatchdogOptions {
  settings: Pick<Config, "LOG_LEVEL" | "LOG_FORMAT">;
  /** The name of the process in its log lines. */
  process: string;
  log: Log;
  intervalMs?: number;
  limitMs?: number;
  /** The file that the thread runs. */
  file?: string;
}

export function createWatchdog({
  settings: { LOG_LEVEL, LOG_FORMAT },
  process,
  log,
  intervalMs = WATCHDOG_INTERVAL_MS,
  limitMs = WATCHDOG_LIMIT_MS,
  file = threadFile(THREAD_NAME),
}: WatchdogOptions): Watchdog {
  const memory = allocateWorkTable();
  const { header } = openWorkTable(memory);
  const data = { memory, intervalMs, limitMs, log: { LOG_LEVEL, LOG_FORMAT, process } };
  let timer: NodeJS.Timeout | undefined;
  let stopThread = async () => {};
  return {
    name: "watchdog",
    tracker: createWorkTracker(memory),
    start() {
      timer = setInterval(() => Atomics.add(header, BEATS, 1), intervalMs).unref();
      stopThread = startThread(file, data, log);
    },
    async close() {
      await stopThread();
      clearInterval(timer);
    },
  };
}

/** Starts the thread without waiting for it; returns the function that stops it. */
function startThread(file: string, data: WatchdogThreadData, log: Log): () => Promise<void> {
  let isWatching = true;
  const onFailure = (error: unknown) => {
    if (isWatching) log.warn("watchdog.failed", { err: error });
    isWatching = false;
  };
  try {
    const thread = new Thread(file, { workerData: data, name: THREAD_NAME, resourceLimits: RESOURCE_LIMITS });
    thread.on("message", () => log.debug("watchdog.started"));
    thread.on("error", onFailure);
    thread.on("exit", () => onFailure(new Error("the watchdog thread ended")));
    thread.unref(); // after the listeners: the one for messages would keep the process alive again
    return async () => {
      isWatching = false;
      await thread.terminate();
    };
  } catch (error) {
    onFailure(error);
    return async () => {};
  }
}
