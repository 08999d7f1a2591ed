import { jittered } from "../runtime/async/timeouts-and-retries.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../runtime/durations.ts";

/**
 * The delay after the first attempt, after the second, and so on: thirteen attempts in about three days. A client can repeat
 * a failed event by hand later.
 */
const RETRY_DELAYS_MS = [
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

const MAX_RETRY_AFTER_MS = 1 * DAY;

/** Returns the milliseconds between this attempt and the next, with jitter; undefined after the last. */
export function nextDelay(attempt: number): number | undefined {
  const delay = RETRY_DELAYS_MS[attempt - 1];
  return delay === undefined ? undefined : jittered(delay);
}

/** The date formats of HTTP. Date.parse alone accepts almost any text that contains a year. */
const HTTP_DATE = /^[a-z]{3,9}, \d\d[ -][a-z]{3}[ -]\d{2,4} \d\d:\d\d:\d\d gmt$/i;

/** Returns the milliseconds that a Retry-After header asks for, at most a day; 0 when it cannot be parsed. */
export function parseRetryAfter(header: string | null, now: number): number {
  const value = header?.trim() ?? "";
  const milliseconds = HTTP_DATE.test(value)
    ? Date.parse(value) - now
    : Number(/^\d+$/.exec(value)?.[0] ?? 0) * SECOND;
  return Math.min(Math.max(milliseconds || 0, 0), MAX_RETRY_AFTER_MS);
}
