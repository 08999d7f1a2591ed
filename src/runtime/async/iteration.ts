/** Calls `runBatch`, which processes up to `limit` items and returns how many, until none is left; returns the total. */
export async function runInBatches(
  limit: number,
  runBatch: (limit: number) => Promise<number>,
): Promise<number> {
  for (let total = 0; ; ) {
    const count = await runBatch(limit);
    total += count;
    if (count < limit) return total;
  }
}

/** Performs one step and returns the number of items it processed, or several numbers, whose names follow that of the step. */
export type Step = () => Promise<number | Record<string, number>>;

/** Runs the steps in sequence. A failed step does not stop the rest; the first error is thrown at the end. */
export async function runSteps(steps: Readonly<Record<string, Step>>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const faults: unknown[] = [];
  for (const [name, step] of Object.entries(steps))
    await step().then(
      (result) => {
        if (typeof result === "number") counts[name] = result;
        else for (const [part, count] of Object.entries(result)) counts[`${name}_${part}`] = count;
      },
      (fault: unknown) => void faults.push(fault),
    );
  if (faults.length > 0) throw faults[0];
  return counts;
}

/**
 * Runs the generator up to its first value, so that an earlier error rejects this promise. The generator is closed when
 * the iteration ends early, also before its first value was taken.
 */
export async function startIteration<T>(
  generator: AsyncGenerator<T, void, undefined>,
): Promise<AsyncIterableIterator<T>> {
  let first: IteratorResult<T, void> | undefined = await generator.next();
  const takeFirst = () => {
    const taken = first;
    first = undefined;
    return taken;
  };
  const started: AsyncIterableIterator<T> = {
    async next() {
      return takeFirst() ?? generator.next();
    },
    return() {
      takeFirst();
      return generator.return();
    },
    [Symbol.asyncIterator]: () => started,
  };
  return started;
}
