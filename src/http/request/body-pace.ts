import { SECOND } from "../../runtime/durations.ts";
import { MIB } from "./body-limits.ts";

/**
 * Limits the rate at which a process reads paced bodies such as images, so that continuous uploads leave processor time for
 * other requests. A single upload is not delayed: BURST_BYTES may be read at once.
 */
export interface BodyPace {
  /** Counts bytes that were read; returns how many milliseconds the next read has to wait. */
  delayAfter(bytes: number): number;
}

const BYTES_PER_MS = (20 * MIB) / SECOND;
const BURST_BYTES = 10 * MIB;
/** A shorter delay is not worth a timer. */
const MIN_DELAY_MS = 4;

export function createBodyPace(now: () => number = () => performance.now()): BodyPace {
  const burstMs = BURST_BYTES / BYTES_PER_MS;
  /** The time at which everything read so far would have been read at the limited rate. */
  let paidUntil = Number.NEGATIVE_INFINITY;
  return {
    delayAfter(bytes) {
      paidUntil = Math.max(paidUntil, now() - burstMs) + bytes / BYTES_PER_MS;
      const delay = paidUntil - now();
      return delay < MIN_DELAY_MS ? 0 : delay;
    },
  };
}
