import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { readProcessorTimes } from "../fixtures/processes/processor-time.ts";
import type { Sample } from "./case.ts";

/** Process ids by the name under which their processor time is reported. */
export type ProcessIds = Readonly<Record<string, number | readonly number[]>>;

/**
 * Counts the processor time of the processes and of all that they started; the returned function makes the sample. Without
 * /proc the sample has no `cpu`.
 */
export function startCpuCount(
  processes: ProcessIds,
): (items: number, values?: Readonly<Record<string, number>>) => Sample {
  const before = readProcessorTimes();
  return (items, values = {}) => {
    const after = readProcessorTimes();
    if (!before || !after) return { values, cpu: {} };
    const perItem = Object.entries(processes).map(([name, pids]) => {
      const roots = [pids].flat();
      return [name, ((after.secondsOf(roots) - before.secondsOf(roots)) * 1_000_000) / items] as const;
    });
    const cpu = perItem.reduce((sum, [, microseconds]) => sum + microseconds, 0);
    return { values: { ...values, cpu }, cpu: Object.fromEntries(perItem) };
  };
}

/** Resident memory of a process in megabytes. */
export function readRssMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) / 1_024;
}

const SAMPLE_INTERVAL_MS = 250;

/** Returns the result of `work`, and the largest resident memory of a process meanwhile. */
export async function maxRssDuring<T>(pid: number, work: Promise<T>): Promise<[result: T, maxMb: number]> {
  let [maxMb, isOver] = [0, false];
  const ended = work.finally(() => {
    isOver = true;
  });
  ended.catch(() => {}); // reported by the await below
  while (!isOver) {
    maxMb = Math.max(maxMb, readRssMb(pid));
    await Promise.race([ended.catch(() => {}), sleep(SAMPLE_INTERVAL_MS)]);
  }
  return [await ended, maxMb];
}
