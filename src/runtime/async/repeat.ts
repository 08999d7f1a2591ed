import type { Log } from "../logging/log.ts";
import { createOutage } from "../logging/outage-logger.ts";
import type { Worker } from "../supervise.ts";
import { pause } from "./pause.ts";

interface Repetition {
  name: string;
  /** Milliseconds between the end of one time and the beginning of the next: they never pile up. */
  every: number;
  work(): Promise<void>;
  log: Log;
}

/** Does something again and again. What fails is only told, once: the next time may mend it. */
export function repeat({ name, every, work, log }: Repetition): Worker {
  const outage = createOutage(log, { away: `${name}.failed`, back: `${name}.mended` });
  const closing = new AbortController();
  let running: Promise<void> = Promise.resolve();
  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await work().then(outage.mended, outage.failed);
      await pause(every, closing.signal);
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
