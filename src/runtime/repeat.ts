import { pause } from "./pause.ts";
import type { Worker } from "./supervise.ts";

interface Repetition {
  name: string;
  /** Milliseconds between the end of one time and the beginning of the next: they never pile up. */
  every: number;
  work(): Promise<void>;
  onFault(error: unknown): void;
}

/** Does something again and again. What fails once is only told: the next time may mend it. */
export function repeat({ name, every, work, onFault }: Repetition): Worker {
  const closing = new AbortController();
  let running: Promise<void> = Promise.resolve();
  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await work().catch(onFault);
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
