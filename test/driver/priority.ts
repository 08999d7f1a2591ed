import type { ChildProcess } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";

/** low: gets less than tests that measure times. lowest: gets only what all others leave. */
const NICE_VALUES = { low: 4, lowest: constants.priority.PRIORITY_LOW } as const;

/** Lowers the priority of a detached process and its children, so that it does not disturb time-sensitive tests. */
export function lowerPriority({ pid }: ChildProcess, priority: keyof typeof NICE_VALUES): void {
  if (pid === undefined) return;
  const niceValue = NICE_VALUES[priority];
  try {
    setPriority(pid, niceValue);
    // Linux shares the processors among sessions first, and a detached process is a session: its own nice value alone
    // would only count inside it.
    const session = `/proc/${pid}/autogroup`;
    if (existsSync(session)) writeFileSync(session, `${niceValue}`);
  } catch {
    // The process has ended, or this system does not allow it: the tests only run slower.
  }
}
