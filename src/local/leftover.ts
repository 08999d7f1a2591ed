import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { SECOND } from "../runtime/durations.ts";

/** True while a process with this id runs and its command line names `program`: a process id alone may be another's by now. */
export const isRunning = (pid: number, program: string): boolean => commandLine(pid).includes(program);

function commandLine(pid: number): string {
  if (!existsSync("/proc/self"))
    return spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" }).stdout;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** The process id in a file, where that process still runs. */
export function runningPid(pidFile: string, program: string): number | undefined {
  if (!existsSync(pidFile)) return undefined;
  const pid = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  return Number.isInteger(pid) && pid > 1 && isRunning(pid, program) ? pid : undefined;
}

/** Ends a server that a killed starter left behind, by the pid file that the server wrote. */
export async function endLeftover(pidFile: string, program: string, signal: NodeJS.Signals): Promise<void> {
  const pid = runningPid(pidFile, program);
  if (pid === undefined) return;
  process.kill(pid, signal);
  const deadline = Date.now() + 20 * SECOND;
  while (isRunning(pid, program)) {
    if (Date.now() > deadline) throw new Error(`${program} of an earlier start (pid ${pid}) does not end`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
