/** Returns the promise's outcome, or that of `onTimeout` after the timeout. The promise is not cancelled, only ignored. */
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
  promise.catch(() => {}); // a rejection after the timeout must not be unhandled
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
