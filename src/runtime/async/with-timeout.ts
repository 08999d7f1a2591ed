/** The promise's outcome, or what `late` makes when it has not settled in time. The promise itself goes on unheard. */
export async function within<T, L>(milliseconds: number, promise: Promise<T>, late: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const alarm = new Promise<L>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    }, milliseconds);
  });
  promise.catch(() => {}); // it may fail after the deadline
  try {
    return await Promise.race([promise, alarm]);
  } finally {
    clearTimeout(timer);
  }
}
