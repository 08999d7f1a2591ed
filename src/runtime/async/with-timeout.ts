/** The promise's outcome, or what `onTimeout` makes when it has not settled in time. The promise itself goes on unheard. */
export async function withTimeout<T, L>(
  milliseconds: number,
  promise: Promise<T>,
  onTimeout: () => L,
): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<L>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(onTimeout());
      } catch (error) {
        reject(error);
      }
    }, milliseconds);
  });
  promise.catch(() => {}); // it may fail after the deadline
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
