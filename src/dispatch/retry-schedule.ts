import { DAY, HOUR, MINUTE, SECOND } from "../runtime/durations.ts";

/** After the first attempt, after the second, and so on. */
const SCHEDULE = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  1 * HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  12 * HOUR,
  24 * HOUR,
  24 * HOUR,
] as const;

const MOST_ASKED_FOR = 1 * DAY;
const SPREAD = 0.2;

/** Milliseconds until the next attempt after the `attempt`th, each a little different; undefined after the last. */
export function nextDelay(attempt: number): number | undefined {
  const delay = SCHEDULE[attempt - 1];
  return delay === undefined ? undefined : delay * (1 - SPREAD + 2 * SPREAD * Math.random());
}

/** Milliseconds that a Retry-After header asks for, a day at most; 0 when it asks for nothing that can be understood. */
export function askedDelay(header: string | null, now: number): number {
  if (header === null) return 0;
  const milliseconds = /^\s*\d+\s*$/.test(header) ? Number(header) * SECOND : Date.parse(header) - now;
  return Math.min(Math.max(milliseconds || 0, 0), MOST_ASKED_FOR);
}
