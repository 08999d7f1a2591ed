import type { ChildProcess } from "node:child_process";
import { setPriority } from "node:os";

/** So that what is measured by time does not depend on how much else there is to do. Its own children inherit it. */
export function lowerPriority({ pid }: ChildProcess): void {
  if (pid !== undefined) setPriority(pid, 4);
}
