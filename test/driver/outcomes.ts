/** The outcome of a test file or a static check. */
export interface Outcome {
  name: string;
  ms: number;
  /** Processor seconds of a file and the processes it started; the shared servers are not included. */
  processorSeconds?: number;
  passed: number;
  /** Titles of the failed assertions. */
  failures: string[];
}

export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Prints one line per file or check, with its duration and processor time. */
export function sayOutcome({ name, ms, processorSeconds, failures }: Outcome): void {
  const times = [`${ms} ms`, ...(processorSeconds === undefined ? [] : [`${processorSeconds.toFixed(1)} s`])];
  say(`${failures.length === 0 ? "ok    " : "FAILED"} ${name} (${times.join(", ")})`);
}

/** What a run reports at its end, also to `npm run test:repeat`. */
export interface Summary {
  seconds: number;
  processorSeconds: number;
  passed: number;
  failures: string[];
}

const SLOWEST_SHOWN = 10;

export function saySlowest(outcomes: readonly Outcome[]): void {
  if (outcomes.length <= SLOWEST_SHOWN) return;
  say(`\nThe ${SLOWEST_SHOWN} slowest, with their processor time:`);
  const slowest = outcomes.toSorted((one, other) => other.ms - one.ms).slice(0, SLOWEST_SHOWN);
  for (const { name, ms, processorSeconds } of slowest)
    say(`${String(ms).padStart(7)} ms  ${processorSeconds?.toFixed(1).padStart(5) ?? "    -"} s  ${name}`);
}

export function saySummary({ seconds, processorSeconds, passed, failures }: Summary): void {
  say(`\n${Math.round(seconds)} s, ${Math.round(processorSeconds)} s of processor time`);
  say(`${passed} passed, ${failures.length} failed`);
}
