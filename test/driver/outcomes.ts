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
  /** Processor seconds that the host of a virtual machine used for others, which make a run slower. */
  stolenSeconds: number;
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

export function saySummary({ seconds, processorSeconds, stolenSeconds, passed, failures }: Summary): void {
  const stolen = stolenSeconds < 1 ? "" : `; the host used ${Math.round(stolenSeconds)} s for others`;
  say(`\n${Math.round(seconds)} s, ${Math.round(processorSeconds)} s of processor time${stolen}`);
  say(`${passed} passed, ${failures.length} failed`);
}
