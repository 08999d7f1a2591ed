export interface Timers {
  schedule(milliseconds: number, work: () => void): void;
  /** Cancels all pending work and ignores later calls of `schedule`. */
  stop(): void;
}

/** Timers whose delays are multiplied by `pace`: 0.01 is a hundred times as fast. */
export function createTimers(pace: number): Timers {
  const pending = new Set<NodeJS.Timeout>();
  let stopped = false;
  return {
    schedule(milliseconds, work) {
      if (stopped) return; // a call that is still in flight at shutdown must not start new work
      const timer = setTimeout(() => {
        pending.delete(timer);
        work();
      }, milliseconds * pace);
      pending.add(timer);
    },
    stop() {
      stopped = true;
      for (const timer of pending) clearTimeout(timer);
      pending.clear();
    },
  };
}
