import { MINUTE, SECOND } from "../../runtime/durations.ts";
import { jittered } from "../../runtime/jitter.ts";

/** Delays after the first attempt, the second and so on; the last one repeats. */
const RETRY_DELAYS_MS = [2 * SECOND, 10 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE] as const;

/** Milliseconds until the next attempt after `attempts` failed ones, with jitter. */
export function sendRetryDelay(attempts: number): number {
  const delay = RETRY_DELAYS_MS[Math.min(attempts, RETRY_DELAYS_MS.length) - 1] ?? RETRY_DELAYS_MS[0];
  return jittered(delay);
}

/** Backoff when one person receives too many messages: the platform wants four times the delay each time. */
export const pairRetryDelay = (attempts: number): number => 4 ** (attempts - 1) * SECOND;
