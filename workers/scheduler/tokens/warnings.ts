import { DAY } from "../../../src/runtime/durations.ts";

/** So many days before a token ends its client is warned, once each. */
const WARNINGS = [14, 7, 1] as const;

export interface Warning {
  /** Which of the warnings it is. */
  threshold: number;
  /** A day that has begun counts. */
  daysLeft: number;
}

/** The warning that is due for a token that ends then, given or not; a token without an end needs none. */
export function dueWarning(expiresAt: Date | null, now: number): Warning | undefined {
  const left = expiresAt === null ? Number.POSITIVE_INFINITY : expiresAt.getTime() - now;
  if (left <= 0) return undefined;
  const threshold = WARNINGS.findLast((days) => left <= days * DAY);
  return threshold === undefined ? undefined : { threshold, daysLeft: Math.ceil(left / DAY) };
}
