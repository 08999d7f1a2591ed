import { SECOND } from "../../runtime/durations.ts";
import { jittered } from "../../runtime/jitter.ts";
import type { Outcome, PlatformCall } from "./call.ts";

/** Delays before the second and third attempt of a read. */
const RETRY_DELAYS_MS = [250, 1 * SECOND];

/** Milliseconds until the next attempt; undefined when there is none. Only reads are retried. */
export function nextRetryDelay(
  { effect }: PlatformCall,
  outcome: Outcome,
  { tries, remaining }: { tries: number; remaining: number },
): number | undefined {
  const delay = RETRY_DELAYS_MS[tries - 1];
  if (effect !== "read" || delay === undefined || !isTransient(outcome)) return undefined;
  const pause = jittered(delay);
  return pause < remaining ? pause : undefined;
}

const isTransient = (outcome: Outcome): boolean =>
  outcome.outcome === "broken" ||
  outcome.outcome === "unreadable" ||
  (outcome.outcome === "refused" && outcome.verdict === "transient");
