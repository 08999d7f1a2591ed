import { useEffect, useRef, useState } from "preact/hooks";
import { type Problem, toProblem } from "./api.ts";

/** What a screen has loaded. A value stays while it is loaded anew, so that nothing jumps. */
export interface Loaded<T> {
  value: T | undefined;
  problem: Problem | undefined;
  /** True while the value is that of the former key. */
  isStale: boolean;
  /** True once the first loading for a key has taken long enough to be worth a sign. */
  isSlow: boolean;
  /** Returns false when it has failed. */
  reload(): Promise<boolean>;
}

const SLOW_AFTER_MS = 150;

interface State<T> {
  key: string;
  value?: T | undefined;
  problem?: Problem | undefined;
}

/** Loads when the screen appears and whenever `key` changes. An answer that a newer request has overtaken is dropped. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<State<T>>({ key });
  const [isSlow, setSlow] = useState(false);
  const running = useRef<AbortController | undefined>(undefined);
  const latestLoad = useRef(load);
  latestLoad.current = load;

  async function run(): Promise<boolean> {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const { signal } = controller;
    const timer = setTimeout(() => setSlow(true), SLOW_AFTER_MS);
    try {
      const value = await latestLoad.current(signal);
      if (!signal.aborted) setState({ key, value });
      return true;
    } catch (thrown) {
      const problem = toProblem(thrown);
      // The value of another key would be taken for the result of this one.
      if (!signal.aborted)
        setState((former) => ({ key, value: former.key === key ? former.value : undefined, problem }));
      return signal.aborted;
    } finally {
      clearTimeout(timer);
      if (running.current === controller) setSlow(false);
    }
  }

  useEffect(() => {
    void run();
    return () => running.current?.abort();
  }, [key]);

  const isStale = state.key !== key;
  const isFirst = isStale || (state.value === undefined && state.problem === undefined);
  const problem = isStale ? undefined : state.problem;
  return { value: state.value, problem, isStale, isSlow: isSlow && isFirst, reload: run };
}

const MAX_POLL_INTERVAL_MS = 60_000;

/**
 * Calls `tick` again and again while `isActive`, but not while the tab is hidden. A slow call delays the next one, and
 * each failure doubles the time until the next.
 */
export function usePolling(isActive: boolean, intervalMs: number, tick: () => Promise<boolean>): void {
  const latestTick = useRef(tick);
  latestTick.current = tick;
  useEffect(() => {
    if (!isActive) return;
    let timer: ReturnType<typeof setTimeout>;
    let isEnded = false;
    const schedule = (ms: number) => {
      timer = setTimeout(async () => {
        const isDone = document.visibilityState === "hidden" || (await latestTick.current());
        if (!isEnded) schedule(isDone ? intervalMs : Math.min(2 * ms, MAX_POLL_INTERVAL_MS));
      }, ms);
    };
    schedule(intervalMs);
    return () => {
      isEnded = true;
      clearTimeout(timer);
    };
  }, [isActive, intervalMs]);
}

export interface Action {
  isRunning: boolean;
  problem: Problem | undefined;
  run(): Promise<void>;
}

/** Runs a request of a button or form once at a time, and keeps why it failed. `isShown` is false once the screen is left. */
export function useAction(act: (isShown: () => boolean) => Promise<void>): Action {
  const [isRunning, setRunning] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const isBusy = useRef(false);
  const isShown = useRef(true);
  useEffect(
    () => () => {
      isShown.current = false;
    },
    [],
  );
  return {
    isRunning,
    problem,
    async run() {
      if (isBusy.current) return;
      isBusy.current = true;
      setRunning(true);
      setProblem(undefined);
      try {
        await act(() => isShown.current);
      } catch (thrown) {
        setProblem(toProblem(thrown));
      } finally {
        isBusy.current = false;
        setRunning(false);
      }
    },
  };
}
