import { Redis } from "ioredis";
import { readProcessorTimes } from "../../fixtures/processes/processor-time.ts";
import type { BenchContext } from "./context.ts";

/** Process ids by the name under which their processor time is reported. */
export type ProcessIds = Readonly<Record<string, number | readonly number[]>>;

/** Starts to count; the returned function gives the microseconds per item since then. Empty without /proc. */
export function startCpuCount(processes: ProcessIds): (items: number) => Record<string, number> {
  const before = readProcessorTimes();
  const loadBefore = process.cpuUsage();
  return (items) => {
    const after = readProcessorTimes();
    if (!before || !after) return {};
    const { user, system } = process.cpuUsage(loadBefore);
    const perItem = Object.entries(processes).map(([name, pids]) => {
      const roots = [pids].flat();
      const seconds = after.secondsOf(roots) - before.secondsOf(roots);
      return [name, (seconds * 1_000_000) / items] as const;
    });
    return { ...Object.fromEntries(perItem), load: (user + system) / items };
  };
}

/** Finds the processes of Postgres and Redis, which all contestants use. */
export async function serverProcesses({ db, settings }: BenchContext) {
  const [row] = await db.query<{ text: string }>("select pg_read_file('postmaster.pid') as text");
  const redis = new Redis(settings.REDIS_URL as string);
  const info = await redis.info("server");
  await redis.quit();
  return {
    postgres: Number.parseInt(row?.text ?? "", 10),
    redis: Number(/process_id:(\d+)/.exec(info)?.[1]),
  };
}
