import type { Log } from "../logging/log.ts";
import type { RepeatedWork } from "../logging/log-events.ts";
import { createOutageLogger } from "../logging/outage-logger.ts";
import type { Worker } from "../supervise.ts";
import { pause } from "./pause.ts";

interface RepeatOptions {
  name: RepeatedWork;
  /** Milliseconds between the end of one run and the start of the next, so that runs never overlap. */
  intervalMs: number;
  work(): Promise<void>;
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
      await work().then(outageLogger.recovered, outageLogger.failed);
      await pause(intervalMs, closing.signal);
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
