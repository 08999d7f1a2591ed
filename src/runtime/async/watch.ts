/** Checks items at an interval while there are any, and ends those that have had their time. */
export interface Watch<T> {
  readonly items: ReadonlySet<T>;
  add(item: T): void;
  delete(item: T): void;
}

interface WatchOptions<T> {
  intervalMs: number;
  /** `ms` have passed since the last check. Time in which the event loop was blocked is not counted: no caller caused it. */
  isOver(item: T, ms: number): boolean;
  /** The item is no longer watched. */
  end(item: T): void;
  afterCheck?(): void;
}

/** Ending an item usually means an answer, which takes time: the others of a crowd end in later turns of the event loop. */
const MAX_ENDED_PER_TURN = 25;

export function createWatch<T>({
  intervalMs,
  isOver,
  end,
  afterCheck = () => {},
}: WatchOptions<T>): Watch<T> {
  const items = new Set<T>();
  let isRunning = false;
  let isEnding = false;
  let checkedAt = 0;

  function check(): void {
    const now = performance.now();
    const ms = Math.min(now - checkedAt, 2 * intervalMs);
    checkedAt = now;
    const over = [...items].filter((item) => isOver(item, ms));
    // The rest of a crowd is ending: a second sequence of turns would end twice as many in each.
    if (!isEnding) endInTurns(over);
    afterCheck();
    isRunning = items.size > 0;
    if (isRunning) setTimeout(check, intervalMs);
  }

  function endInTurns(over: readonly T[]): void {
    for (const item of over.slice(0, MAX_ENDED_PER_TURN)) if (items.delete(item)) end(item);
    isEnding = over.length > MAX_ENDED_PER_TURN;
    if (isEnding) setImmediate(endInTurns, over.slice(MAX_ENDED_PER_TURN));
  }

  return {
    items,
    add(item) {
      items.add(item);
      if (isRunning) return;
      isRunning = true;
      checkedAt = performance.now();
      setTimeout(check, intervalMs);
    },
    delete: (item) => void items.delete(item),
  };
}
