/** Events that are kept in memory while the handler is slow; the stream is not read meanwhile. */
const MAX_QUEUED_EVENTS = 100;

interface QueueOptions<E> {
  /** How many events are handled at once. */
  concurrency: number;
  /** Events of one lane are handled one after the other, in their order. */
  laneOf(event: E): string;
  /** Returns false when the event could not be handled because the run ends. */
  handle(event: E): Promise<boolean>;
  /** Aborted when the run ends: no further event is handled. */
  signal: AbortSignal;
  /** Called with the newest cursor up to which every event was handled. */
  onProgress(cursor: string): void;
}

export interface EventQueue<E> {
  /** Adds an event, or only a cursor. Resolves when there is room for another one. */
  add(cursor: string, event?: E): Promise<void>;
  /** Resolves when no event is being handled. */
  idle(): Promise<void>;
}

/**
 * - waiting: another event of its lane is in progress, or too many others are.
 * - in progress: `handle` runs.
 * - handled: it is left as soon as every event before it is handled too, which moves the cursor on.
 */
interface Entry<E> {
  cursor: string;
  event: E | undefined;
  state: "waiting" | "in progress" | "handled";
}

/** Handles events in parallel, in order within a lane, and knows up to which cursor all are handled. */
export function createEventQueue<E>(options: QueueOptions<E>): EventQueue<E> {
  const { concurrency, laneOf, handle, signal, onProgress } = options;
  const entries: Entry<E>[] = [];
  const busyLanes = new Set<string>();
  let onChange: (() => void)[] = [];

  /** Resolves when the condition holds, which is checked after each handled event. */
  const waitUntil = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((resolve) => onChange.push(resolve));
  };

  function leaveHandled(): void {
    let cursor: string | undefined;
    while (entries[0]?.state === "handled") cursor = entries.shift()?.cursor;
    if (cursor !== undefined) onProgress(cursor);
  }

  function startNext(): void {
    const passedLanes = new Set(busyLanes);
    for (const entry of entries) {
      if (entry.state !== "waiting" || entry.event === undefined) continue;
      const lane = laneOf(entry.event);
      if (busyLanes.size < concurrency && !passedLanes.has(lane)) void run(entry, entry.event);
      passedLanes.add(lane);
    }
  }

  async function run(entry: Entry<E>, event: E): Promise<void> {
    const lane = laneOf(event);
    entry.state = "in progress";
    busyLanes.add(lane);
    const isHandled = await handle(event);
    busyLanes.delete(lane);
    if (isHandled) {
      entry.state = "handled";
      leaveHandled();
    }
    if (!signal.aborted) startNext();
    const callbacks = onChange;
    onChange = [];
    for (const callback of callbacks) callback();
  }

  return {
    async add(cursor, event) {
      const last = entries.at(-1);
      if (event === undefined && last !== undefined && last.event === undefined) last.cursor = cursor;
      else entries.push({ cursor, event, state: event === undefined ? "handled" : "waiting" });
      leaveHandled();
      startNext();
      await waitUntil(() => signal.aborted || entries.length < MAX_QUEUED_EVENTS);
    },
    idle: () => waitUntil(() => busyLanes.size === 0),
  };
}

/** How many ids are remembered. The API repeats events close to each other. */
const MAX_REMEMBERED_IDS = 10_000;

/** Returns a function that is true when it has seen the id before, among the latest ones. */
export function createRepeatFilter(): (id: string) => boolean {
  const seen = new Set<string>();
  return (id) => {
    if (seen.has(id)) return true;
    seen.add(id);
    const [oldest] = seen;
    if (seen.size > MAX_REMEMBERED_IDS && oldest !== undefined) seen.delete(oldest);
    return false;
  };
}
