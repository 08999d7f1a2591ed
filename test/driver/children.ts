import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { stopGroup } from "../fixtures/processes/stop-group.ts";

const running = new Set<ChildProcess>();
let isStopped = false;

/** False after `stopChildren`. */
export const mayStart = (): boolean => !isStopped;

/** Starts a program in the folder of the project. */
export function startChild(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(program, args, { cwd: packageRoot(), detached: true, ...options });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Stops the children and the processes that they have started. */
export function stopChildren(): void {
  isStopped = true;
  for (const { pid } of running) if (pid !== undefined) stopGroup(pid);
}
