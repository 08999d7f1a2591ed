/** Something to be done, which counts what it did. */
export type Step = () => Promise<number>;

/** One after the other; what fails of it does not keep the rest from being done. */
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
