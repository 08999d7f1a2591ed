export type QueuedWork<T> = { outcome: "done"; value: T } | { outcome: "overloaded" };

/**
 * Runs expensive work when capacity is free. Work is waiting, then running, or rejected as `overloaded` when too much
 * is waiting or its caller already has `maxPerCaller`. Finished work passes its place to the first waiting one.
 */
export type WorkQueue = <T>(caller: string, work: () => Promise<T>) => Promise<QueuedWork<T>>;

interface WorkQueueOptions {
  maxRunning: number;
  maxWaiting: number;
  /** Limit of running and waiting work per caller, so that one caller cannot block the others. */
  maxPerCaller: number;
}

export function createWorkQueue({ maxRunning, maxWaiting, maxPerCaller }: WorkQueueOptions): WorkQueue {
  const waiting: (() => void)[] = [];
  const perCaller = new Map<string, number>();
  let running = 0;

  async function acquire(): Promise<void> {
    if (running < maxRunning) running += 1;
    else await new Promise<void>((resume) => waiting.push(resume)); // release passes the place on, so `running` stays the same
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
