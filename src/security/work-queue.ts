export type QueuedWork<T> = { outcome: "done"; value: T } | { outcome: "overloaded" };

/** Does costly work when its turn comes; `caller` is whom it is done for. */
export type WorkQueue = <T>(caller: string, work: () => Promise<T>) => Promise<QueuedWork<T>>;

interface WorkQueueOptions {
  maxRunning: number;
  maxWaiting: number;
  /** How many of those one caller may have: a single one must not keep the others out. */
  maxPerCaller: number;
}

/** Runs at most so many at once; refuses when too many wait already. */
export function createWorkQueue({ maxRunning, maxWaiting, maxPerCaller }: WorkQueueOptions): WorkQueue {
  const waiting: (() => void)[] = [];
  const perCaller = new Map<string, number>();
  let running = 0;

  async function acquire(): Promise<void> {
    if (running < maxRunning) running += 1;
    else await new Promise<void>((resume) => waiting.push(resume)); // the place is handed over, not given up
  }

  function release(): void {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }

  return async (caller, work) => {
    const callerCount = perCaller.get(caller) ?? 0;
    if (waiting.length >= maxWaiting || callerCount >= maxPerCaller) return { outcome: "overloaded" };
    perCaller.set(caller, callerCount + 1);
    try {
      await acquire();
      return { outcome: "done", value: await work().finally(release) };
    } finally {
      const remaining = (perCaller.get(caller) ?? 1) - 1;
      if (remaining > 0) perCaller.set(caller, remaining);
      else perCaller.delete(caller);
    }
  };
}
