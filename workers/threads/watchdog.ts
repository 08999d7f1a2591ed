import { parentPort, workerData } from "node:worker_threads";
import { SECOND } from "../../src/runtime/durations.ts";
import { createLog, writeFully } from "../../src/runtime/log.ts";
import type { WatchdogThreadData } from "../../src/runtime/watchdog.ts";
import { BEATS, openWorkTable, readWork, SLEEP } from "../../src/runtime/watchdog.ts";

/**
 * The body of the watchdog thread. It is watching until the event loop has been blocked for the limit; then it logs the work
 * in progress and kills the process, since a blocked process can neither handle a signal nor exit by itself.
 */

const MAX_LOGGED_LABELS = 10;
const STDERR = 2;

const { memory, intervalMs, limitMs, log: logSettings } = workerData as WatchdogThreadData;
const { header } = openWorkTable(memory);
// Standard error, written directly: process.stdout of a thread passes through the blocked event loop.
const log = createLog({ ...logSettings, write: (line) => writeFully(STDERR, line) });

/**
 * Returns once the event loop has been blocked for the limit. Counts its own wake-ups instead of reading the clock: after
 * SIGSTOP, or a suspension of the machine, both threads continue together and the process must not be killed.
 */
function waitUntilBlocked(): void {
  const maxMissedBeats = Math.ceil(limitMs / intervalMs);
  let lastBeats = Atomics.load(header, BEATS);
  for (let missedBeats = 0; missedBeats < maxMissedBeats; ) {
    Atomics.wait(header, SLEEP, 0, intervalMs);
    const beats = Atomics.load(header, BEATS);
    missedBeats = beats === lastBeats ? missedBeats + 1 : 0;
    lastBeats = beats;
  }
}

function logBlocked(): void {
  const { current, labels } = readWork(memory);
  log.error("process.blocked", {
    current,
    in_progress: labels.slice(0, MAX_LOGGED_LABELS).join(", "),
    count: labels.length,
    seconds: limitMs / SECOND,
  });
}

parentPort?.postMessage("started");
waitUntilBlocked();
try {
  logBlocked();
} finally {
  process.kill(process.pid, "SIGKILL");
}
