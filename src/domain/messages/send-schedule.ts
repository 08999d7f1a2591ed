import { MINUTE, SECOND } from "../../runtime/durations.ts";
import { jittered } from "../../runtime/jitter.ts";

/** After the first attempt, after the second, and so on; then always the last. */
const RETRY_DELAYS_MS = [2 * SECOND, 10 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE] as const;

/** Milliseconds until the next attempt after `attempts` that came to nothing, each a little different. */
export function sendRetryDelay(attempts: number): number {
  const delay = RETRY_DELAYS_MS[Math.min(attempts, RETRY_DELAYS_MS.length) - 1] ?? RETRY_DELAYS_MS[0];
  return jittered(delay);
}

/** The same where one person gets too much: the platform wants to be left alone four times as long each time. */
export const pairRetryDelay = (attempts: number): number => 4 ** (attempts - 1) * SECOND;
