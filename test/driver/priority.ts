import type { ChildProcess } from "node:child_process";
import { setPriority } from "node:os";

/** Lowers the priority of a process and its children, so that it does not disturb time-sensitive tests. */
export function lowerPriority({ pid }: ChildProcess): void {
  if (pid !== undefined) setPriority(pid, 4);
}
