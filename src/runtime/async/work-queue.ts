export type QueuedWork<T> = { outcome: "done"; value: T } | { outcome: "overloaded" | "cancelled" };

/** Reserved capacity has a waiting list of its own: work in it never waits behind a full list of the shared capacity. */
export type Capacity = "reserved" | "shared";

export interface QueuedCaller {
  /** Shares a limit with all work of the same caller in the same capacity. */
  caller: string;
  capacity?: Capacity;
  /** Aborted when the caller is gone: waiting work is dropped, running work finishes. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs expensive work when capacity is free. Work is waiting, then running. It is rejected as `overloaded` when too much
 * waits for its capacity or its caller already has `maxPerCaller`, and `cancelled` when its signal aborts before it runs.
 * Finished work passes its place to the first waiting one, of each capacity in turn.
 */
export type WorkQueue = <T>(caller: QueuedCaller, work: () => Promise<T>) => Promise<QueuedWork<T>>;

interface WorkQueueOptions {
  maxRunning: number;
  /** Limit of waiting work in each capacity. */
  maxWaiting: number;
  /** Limit of running and waiting work per caller and capacity, so that one caller cannot block the others. */
  maxPerCaller: number;
}

/** Continues waiting work: true when it may run, false when its caller is gone. */
type Resume = (mayRun: boolean) => void;

interface WaitingList {
  /** In order of arrival. */
  waiting: Set<Resume>;
  perCaller: Map<string, number>;
}

export function createWorkQueue({ maxRunning, maxWaiting, maxPerCaller }: WorkQueueOptions): WorkQueue {
  const lists: Record<Capacity, WaitingList> = { reserved: newList(), shared: newList() };
  let running = 0;
  let nextCapacity: Capacity = "reserved";

  function acquire({ waiting }: WaitingList, signal: AbortSignal | undefined): Promise<boolean> | boolean {
    if (signal?.aborted) return false;
    if (running < maxRunning) {
      running += 1;
      return true;
    }
    return new Promise((resolve) => {
      const resume: Resume = (mayRun) => {
        signal?.removeEventListener("abort", cancel);
        waiting.delete(resume);
        resolve(mayRun);
      };
      const cancel = () => resume(false);
      signal?.addEventListener("abort", cancel);
      waiting.add(resume);
    });
  }

  /** Passes the place on, so that `running` stays the same, unless nothing waits. */
  function release(): void {
    const turn: Capacity = lists[nextCapacity].waiting.size > 0 ? nextCapacity : otherCapacity(nextCapacity);
    nextCapacity = otherCapacity(turn);
    const [next] = lists[turn].waiting;
    if (next) next(true);
    else running -= 1;
  }

  return async ({ caller, capacity = "shared", signal }, work) => {
    const { waiting, perCaller } = lists[capacity];
    const callerCount = perCaller.get(caller) ?? 0;
    if (waiting.size >= maxWaiting || callerCount >= maxPerCaller) return { outcome: "overloaded" };
    perCaller.set(caller, callerCount + 1);
    try {
      if (!(await acquire(lists[capacity], signal))) return { outcome: "cancelled" };
      return { outcome: "done", value: await work().finally(release) };
    } finally {
      const remaining = (perCaller.get(caller) ?? 1) - 1;
      if (remaining > 0) perCaller.set(caller, remaining);
      else perCaller.delete(caller);
    }
  };
}

const newList = (): WaitingList => ({ waiting: new Set(), perCaller: new Map() });

const otherCapacity = (capacity: Capacity): Capacity => (capacity === "shared" ? "reserved" : "shared");
