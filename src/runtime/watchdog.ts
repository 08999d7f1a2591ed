import { Worker as Thread } from "node:worker_threads";
import type { Config } from "./config/config.ts";
import { WATCHDOG_INTERVAL_MS, WATCHDOG_LIMIT_MS } from "./deadlines.ts";
import type { Log } from "./log.ts";
import { threadFile } from "./package-root.ts";
import type { Worker } from "./supervise.ts";

/**
 * A thread that ends the process when its event loop is blocked, after one log line that names the work in progress.
 * - watching: from `start` until `close`.
 * - off: the thread could not start or failed. One warning is logged and the process goes on without it.
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

/** A piece of work that the watchdog names when it blocks the event loop. */
export interface TrackedWork {
  /** Marks this work as the work that runs now. Call it where the work continues after waiting. */
  resume(): void;
  /** Must be called once the work has ended or failed; further calls have no effect. */
  end(): void;
}

export interface WorkTracker {
  /** Starts tracked work, which also counts as resumed. The label is logged: ids and route patterns, never a URL or a secret. */
  begin(label: string): TrackedWork;
}

const UNTRACKED: TrackedWork = { resume() {}, end() {} };

/** Tracks nothing. */
export const NO_TRACKER: WorkTracker = { begin: () => UNTRACKED };

/** Writes tracked work into the memory that the watchdog reads. Work beyond MAX_TRACKED entries is not tracked. */
export function createWorkTracker(memory: SharedArrayBuffer): WorkTracker {
  const { header, lengths, sequences, labels } = openWorkTable(memory);
  const freeRows = Array.from({ length: MAX_TRACKED }, (_, row) => row);
  const encoder = new TextEncoder();
  let sequence = 0;

  /** A class: closures per entry would cost more than the rest of `begin`. */
  class TableRow implements TrackedWork {
    private readonly row: number;
    private hasEnded = false;

    constructor(row: number) {
      this.row = row;
    }

    resume(): void {
      if (this.hasEnded) return;
      sequence = (sequence + 1) | 0;
      Atomics.store(sequences, this.row, sequence);
      Atomics.store(header, CURRENT, this.row + 1);
    }

    end(): void {
      if (this.hasEnded) return;
      this.hasEnded = true;
      Atomics.store(lengths, this.row, 0);
      if (header[CURRENT] === this.row + 1) Atomics.store(header, CURRENT, 0);
      freeRows.push(this.row);
    }
  }

  return {
    begin(label) {
      const row = freeRows.pop();
      if (row === undefined) return UNTRACKED;
      const { written } = encoder.encodeInto(label, labels[row] as Uint8Array);
      Atomics.store(lengths, row, written);
      const work = new TableRow(row);
      work.resume();
      return work;
    },
  };
}

export const MAX_TRACKED = 1024;
/** Longer labels are cut. A route and the longest request id fit. */
export const MAX_LABEL_BYTES = 256;

/** Cells of `header`. */
export const BEATS = 0;
/** The row of the work that was resumed last, plus one; 0 when it has ended. */
const CURRENT = 1;
/** Always 0: the thread sleeps by waiting for it to change. */
export const SLEEP = 2;
const HEADER_CELLS = 3;

const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT;
const LABELS_OFFSET = (HEADER_CELLS + 2 * MAX_TRACKED) * WORD_BYTES;

/**
 * Memory shared with the watchdog thread: a counter of the event loop and a row for each piece of tracked work. Only the process
 * writes; the thread reads the rows once the event loop is blocked, so that it never sees a half-written one.
 */
export const allocateWorkTable = (): SharedArrayBuffer =>
  new SharedArrayBuffer(LABELS_OFFSET + MAX_TRACKED * MAX_LABEL_BYTES);

/** Views of the table. Each array except `header` has one entry per row. */
export const openWorkTable = (memory: SharedArrayBuffer) => ({
  header: new Int32Array(memory, 0, HEADER_CELLS),
  /** Bytes of each label; 0 in a free row. */
  lengths: new Int32Array(memory, HEADER_CELLS * WORD_BYTES, MAX_TRACKED),
  /** Numbers the calls of `resume`; the highest is the most recent. Overflows after 2^31 of them. */
  sequences: new Int32Array(memory, (HEADER_CELLS + MAX_TRACKED) * WORD_BYTES, MAX_TRACKED),
  labels: Array.from(
    { length: MAX_TRACKED },
    (_, row) => new Uint8Array(memory, LABELS_OFFSET + row * MAX_LABEL_BYTES, MAX_LABEL_BYTES),
  ),
});

export interface WorkInProgress {
  /** The label of the work that was resumed last, if it has not ended. */
  current: string | undefined;
  /** All labels, the most recently resumed first. */
  labels: string[];
}

export function readWork(memory: SharedArrayBuffer): WorkInProgress {
  const { header, lengths, sequences, labels } = openWorkTable(memory);
  const decoder = new TextDecoder();
  const labelAt = (row: number) => decoder.decode(labels[row]?.slice(0, lengths[row]));
  const sequenceAt = (row: number) => sequences[row] as number;
  const rows = [...lengths.keys()].filter((row) => lengths[row] !== 0);
  // The difference as a 32-bit integer is right after an overflow too.
  rows.sort((one, other) => (sequenceAt(other) - sequenceAt(one)) | 0);
  const current = Atomics.load(header, CURRENT) - 1;
  return { current: current < 0 ? undefined : labelAt(current), labels: rows.map(labelAt) };
}
