import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { SECOND } from "../runtime/durations.ts";

/**
 * A process of an earlier start that may still run: its pid file, and a text that only its command line contains.
 * The pid alone is not enough: the system may have reused it for another process, which must never be killed.
 */
export interface Leftover {
  pidFile: string;
  marker: string;
}

function commandLine(pid: number): string {
  if (!existsSync("/proc/self"))
    return spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" }).stdout;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

const isRunning = (pid: number, marker: string): boolean => {
  const line = commandLine(pid);
  return line !== "" && line.includes(marker);
};

/** Returns the process id while the process runs. */
export function runningPid({ pidFile, marker }: Leftover): number | undefined {
  if (!existsSync(pidFile)) return undefined;
  const pid = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  const isOther = Number.isInteger(pid) && pid > 1 && pid !== process.pid;
  return isOther && isRunning(pid, marker) ? pid : undefined;
}

/** Sends the signal if the process runs, and waits for its exit. */
export async function stopLeftover(leftover: Leftover, signal: NodeJS.Signals): Promise<void> {
  const pid = runningPid(leftover);
  if (pid === undefined) return;
  process.kill(pid, signal);
  const deadline = Date.now() + 30 * SECOND;
  while (isRunning(pid, leftover.marker)) {
    if (Date.now() > deadline)
      throw new Error(`process ${pid} of an earlier start did not exit; stop it and start again`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
