import type { ChildProcess } from "node:child_process";
import { constants, setPriority } from "node:os";

/** low: gets less than tests that measure times. lowest: gets only what all others leave. */
const NICE_VALUES = { low: 4, lowest: constants.priority.PRIORITY_LOW } as const;

/** Lowers the priority of a process and its children, so that it does not disturb time-sensitive tests. */
export function lowerPriority({ pid }: ChildProcess, priority: keyof typeof NICE_VALUES): void {
  if (pid !== undefined) setPriority(pid, NICE_VALUES[priority]);
}
