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
