export interface Timers {
  schedule(milliseconds: number, work: () => void): void;
  /** Nothing that was to come will happen any more. */
  stop(): void;
}

/** Timers of a time that goes at a pace of its own: 0.01 is a hundred times as fast. */
export function createTimers(pace: number): Timers {
  const pending = new Set<NodeJS.Timeout>();
  let stopped = false;
  return {
    schedule(milliseconds, work) {
      if (stopped) return; // what was under way at the end must not begin anything new
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
