import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const SAMPLE_INTERVAL_MS = 250;

/** Resident memory of a process in megabytes. */
export async function readRssMb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
  return Number(stdout) / 1_024;
}

/** Returns the largest resident memory while `work` runs. */
export async function maxRssDuring<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ value: T; maxMb: number }> {
  let [maxMb, isOver] = [0, false];
  const sampling = (async () => {
    while (!isOver) {
      maxMb = Math.max(maxMb, await readRssMb(pid));
      await sleep(SAMPLE_INTERVAL_MS);
    }
  })();
  const value = await work().finally(() => (isOver = true));
  await sampling;
  return { value, maxMb };
}
