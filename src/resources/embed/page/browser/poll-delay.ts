/** Milliseconds between two reads of the session's state. */
const DELAYS_MS = {
  running: { visible: 1_000, hidden: 5_000 },
  idle: { visible: 20_000, hidden: 120_000 },
};

const FIRST_RETRY_MS = 2_000;
const MAX_RETRY_MS = 60_000;

export interface PollSituation {
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
