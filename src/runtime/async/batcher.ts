/** Does for many at once what is asked for one by one: whoever comes while the last ones are done goes with the next. */
export function createBatcher<I, O>(
  work: (items: readonly I[]) => Promise<(item: I) => O>,
  maxItems: number,
): (item: I) => Promise<O> {
  interface PendingItem {
    item: I;
    resolve(outcome: O): void;
    reject(error: unknown): void;
  }
  let pending: PendingItem[] = [];
  let busy = false;

  async function run(): Promise<void> {
    busy = true;
    while (pending.length > 0) {
      const batch = pending.slice(0, maxItems);
      pending = pending.slice(maxItems);
      try {
        const outcomeOf = await work(batch.map(({ item }) => item));
        for (const { item, resolve } of batch) resolve(outcomeOf(item));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    busy = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      pending.push({ item, resolve, reject });
      // After this turn of the loop, in which others may come too.
      if (!busy) {
        busy = true;
        setImmediate(run);
      }
    });
}
