import { PlatformFailure } from "../../../platforms/errors/failure.ts";
import { pause } from "../../../runtime/async/pause.ts";
import { HOUR, SECOND } from "../../../runtime/durations.ts";
import { jittered } from "../../../runtime/jitter.ts";

const FIRST_DELAY_MS = SECOND;
const MAX_DELAY_MS = 15 * SECOND;
const GROWTH = 1.5;

/** The next delay of a series that grows to 15 seconds; the first without `delayMs`. */
export const nextDelay = (delayMs?: number): number =>
  delayMs === undefined ? FIRST_DELAY_MS : Math.min(delayMs * GROWTH, MAX_DELAY_MS);

/** Repeats a read while the platform is throttled or unreachable. */
export type WaitOut = <T>(read: () => Promise<T>) => Promise<T>;

/** All reads together wait for at most `maxWaitMs`; the failure that would need more is thrown. */
export function createWaitOut(maxWaitMs = HOUR): WaitOut {
  let remainingMs = maxWaitMs;
  return async (read) => {
    for (let delay = nextDelay(); ; delay = nextDelay(delay)) {
      try {
        return await read();
      } catch (error) {
        const waitMs = Math.max(requestedWait(error), jittered(delay));
        if (waitMs > remainingMs) throw error;
        remainingMs -= waitMs;
        await pause(waitMs);
      }
    }
  };
}

/** Milliseconds that the platform asks to wait; infinite when the read would fail again. */
const requestedWait = (error: unknown): number =>
  error instanceof PlatformFailure && error.retryable ? (error.wait ?? 0) : Number.POSITIVE_INFINITY;
