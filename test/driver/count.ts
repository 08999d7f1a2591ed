/** How many assertions held, and how many did not. */
export interface Count {
  passed: number;
  failed: number;
}

export const total = (counts: readonly Count[]): Count => ({
  passed: counts.reduce((sum, { passed }) => sum + passed, 0),
  failed: counts.reduce((sum, { failed }) => sum + failed, 0),
});

export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** One line per file or check; `began` is when it did. */
export const sayOutcome = (ok: boolean, name: string, began: number): void =>
  say(`${ok ? "ok    " : "FAILED"} ${name} (${Date.now() - began} ms)`);
