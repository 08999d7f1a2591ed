/** Does for many at once what is asked for one by one: whoever comes while the last ones are done goes with the next. */
export function gather<I, O>(
  work: (items: readonly I[]) => Promise<(item: I) => O>,
  most: number,
): (item: I) => Promise<O> {
  interface Waiting {
    item: I;
    resolve(outcome: O): void;
    reject(error: unknown): void;
  }
  let waiting: Waiting[] = [];
  let busy = false;

  async function run(): Promise<void> {
    busy = true;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, most);
      waiting = waiting.slice(most);
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
      waiting.push({ item, resolve, reject });
      // After this turn of the loop, in which others may come too.
      if (!busy) {
        busy = true;
        setImmediate(run);
      }
    });
}
