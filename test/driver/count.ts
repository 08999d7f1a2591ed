/** Numbers of passed and failed assertions. */
export interface AssertionCount {
  passed: number;
  failed: number;
}

export const sumCounts = (counts: readonly AssertionCount[]): AssertionCount => ({
  passed: counts.reduce((sum, { passed }) => sum + passed, 0),
  failed: counts.reduce((sum, { failed }) => sum + failed, 0),
});

export const say = (line: string): void => void process.stdout.write(`${line}\n`);

interface Duration {
  name: string;
  ms: number;
}

const durations: Duration[] = [];

/** Prints one line per file or check; `startedAt` is its start time. */
export function sayOutcome(ok: boolean, name: string, startedAt: number): void {
  const ms = Date.now() - startedAt;
  durations.push({ name, ms });
  say(`${ok ? "ok    " : "FAILED"} ${name} (${ms} ms)`);
}

const SLOWEST_SHOWN = 10;

export function saySlowest(): void {
  if (durations.length <= SLOWEST_SHOWN) return;
  say(`\nThe ${SLOWEST_SHOWN} slowest:`);
  for (const { name, ms } of durations.toSorted((one, other) => other.ms - one.ms).slice(0, SLOWEST_SHOWN))
    say(`${String(ms).padStart(7)} ms  ${name}`);
}
