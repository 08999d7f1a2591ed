import { type PollSituation, pollDelay } from "./poll-delay.ts";

interface PollerOptions<T> {
  read(): Promise<T>;
  onValue(value: T): void;
  /** Called with the number of failed reads in a row. */
  onFailure(error: unknown, failures: number): void;
  isRunning(): boolean;
}

export interface Poller {
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
