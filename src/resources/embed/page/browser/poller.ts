interface PollerOptions<T> {
  read(): Promise<T>;
  onValue(value: T): void;
  /** Called with the number of failed reads in a row. */
  onFailure(error: unknown, failures: number): void;
  isRunning(): boolean;
}

interface Poller {
  /** Reads now and drops the answer of a read that has already begun: it may be out of date. */
  pollNow(): void;
  stop(): void;
}

/** Waits, reads, and waits again until `stop`. Reads at once when the page becomes visible, focused or online. */
export function createPoller<T>({ read, onValue, onFailure, isRunning }: PollerOptions<T>): Poller {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let latestRead = 0;
  let isStopped = false;

  const situation = (): PollSituation => ({ isRunning: isRunning(), isHidden: document.hidden, failures });

  async function poll(): Promise<void> {
    if (isStopped) return;
    clearTimeout(timer);
    latestRead += 1;
    const thisRead = latestRead;
    const isCurrent = () => thisRead === latestRead && !isStopped;
    try {
      const value = await read();
      if (!isCurrent()) return;
      failures = 0;
      onValue(value);
    } catch (error) {
      if (!isCurrent()) return;
      failures += 1;
      onFailure(error, failures);
    }
    if (isCurrent()) timer = setTimeout(pollNow, pollDelay(situation()));
  }

  const pollNow = () => void poll();
  const pollWhenVisible = () => {
    if (!document.hidden) pollNow();
  };
  document.addEventListener("visibilitychange", pollWhenVisible);
  window.addEventListener("focus", pollNow);
  window.addEventListener("online", pollNow);
  return {
    pollNow,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Milliseconds between two reads of the session's state. */
const DELAYS_MS = {
  running: { visible: 1_000, hidden: 5_000 },
  idle: { visible: 20_000, hidden: 120_000 },
};

const FIRST_RETRY_MS = 2_000;
const MAX_RETRY_MS = 60_000;

interface PollSituation {
  /** A try runs, so the state may change at any moment. */
  isRunning: boolean;
  isHidden: boolean;
  /** Reads that failed since the last one that succeeded. */
  failures: number;
}

/** Varies by a tenth, so that many pages do not ask at the same moment after an outage. */
export function pollDelay({ isRunning, isHidden, failures }: PollSituation, random = Math.random): number {
  const regular = DELAYS_MS[isRunning ? "running" : "idle"][isHidden ? "hidden" : "visible"];
  const retry = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10));
  const delay = failures === 0 ? regular : isHidden ? Math.max(regular, retry) : retry;
  return Math.round(delay * (0.9 + random() * 0.2));
}
