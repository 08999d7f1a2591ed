export interface Timers {
  later(milliseconds: number, work: () => void): void;
  /** Nothing that was to come will happen any more. */
  stop(): void;
}

/** Timers of a time that goes at a pace of its own: 0.01 is a hundred times as fast. */
export function createTimers(pace: number): Timers {
  const waiting = new Set<NodeJS.Timeout>();
  return {
    later(milliseconds, work) {
      const timer = setTimeout(() => {
        waiting.delete(timer);
        work();
      }, milliseconds * pace);
      waiting.add(timer);
    },
    stop() {
      for (const timer of waiting) clearTimeout(timer);
      waiting.clear();
    },
  };
}
