import type { SandboxContext } from "../context.ts";
import { type RefusalName, refuse } from "./refusals.ts";

interface ChangeLimitOptions {
  maxChanges: number;
  windowMs: number;
  /** The error for a change above the limit. */
  refusal: RefusalName;
}

export interface ChangeLimit {
  /** Throws when another change would exceed the limit. */
  check(id: string): void;
  /** Counts a change until the window has passed. */
  count(id: string): void;
}

/** Limits how often an object can be changed within a sliding window. */
export function createChangeLimit(
  { schedule }: Pick<SandboxContext, "schedule">,
  { maxChanges, windowMs, refusal }: ChangeLimitOptions,
): ChangeLimit {
  const counts = new Map<string, number>();
  const countOf = (id: string) => counts.get(id) ?? 0;
  return {
    check(id) {
      if (countOf(id) >= maxChanges) throw refuse(refusal);
    },
    count(id) {
      counts.set(id, countOf(id) + 1);
      schedule(windowMs, () => counts.set(id, countOf(id) - 1));
    },
  };
}
