import { MINUTE, SECOND } from "../../runtime/durations.ts";

/** After the first attempt, after the second, and so on; then always the last. */
const SCHEDULE = [2 * SECOND, 10 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE] as const;
const SPREAD = 0.2;

/** Milliseconds until the next attempt after `attempts` that came to nothing, each a little different. */
export function nextSend(attempts: number): number {
  const delay = SCHEDULE[Math.min(attempts, SCHEDULE.length) - 1] ?? SCHEDULE[0];
  return delay * (1 - SPREAD + 2 * SPREAD * Math.random());
}

/** The same where one person gets too much: the platform wants to be left alone four times as long each time. */
export const nextToPair = (attempts: number): number => 4 ** (attempts - 1) * SECOND;
