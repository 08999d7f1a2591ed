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
