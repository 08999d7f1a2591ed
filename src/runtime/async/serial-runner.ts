/** Runs tasks one after another, in the order of the calls. A failed task does not affect the next one. */
export type SerialRunner = <T>(task: () => Promise<T>) => Promise<T>;

export function createSerialRunner(): SerialRunner {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const run = last.then(task, task);
    last = run;
    return run;
  };
}
