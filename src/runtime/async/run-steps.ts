/** Performs one step and returns the number of items it processed. */
export type Step = () => Promise<number>;

/** Runs the steps in sequence. A failed step does not stop the rest; the first error is thrown at the end. */
export async function runSteps(steps: Readonly<Record<string, Step>>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const faults: unknown[] = [];
  for (const [name, step] of Object.entries(steps))
    await step().then(
      (count) => {
        counts[name] = count;
      },
      (fault: unknown) => void faults.push(fault),
    );
  if (faults.length > 0) throw faults[0];
  return counts;
}
