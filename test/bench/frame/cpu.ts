import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Redis } from "ioredis";
import type { BenchContext } from "./context.ts";

/** Process ids by the name under which their processor time is reported. */
export type ProcessIds = Readonly<Record<string, number | readonly number[]>>;

/** Linux counts processor time in hundredths of a second. */
const US_PER_TICK = 10_000;

interface ProcessTimes {
  parent: number;
  /** Time of the process, and of its children that have ended. */
  ticks: number;
}

function readTimes(pid: string): ProcessTimes | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program's name is in parentheses and may contain spaces.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
    const ticks = Number(user) + Number(system) + Number(endedUser) + Number(endedSystem);
    return { parent: Number(fields[1]), ticks };
  } catch {
    return undefined; // the process has ended
  }
}

/** Reads the processor time of a process and all its descendants, in ticks. */
function ticksOf(roots: readonly number[], times: ReadonlyMap<number, ProcessTimes>): number {
  const belongs = (pid: number): boolean => {
    const parent = times.get(pid)?.parent;
    return roots.includes(pid) || (parent !== undefined && parent > 1 && belongs(parent));
  };
  return [...times].reduce((sum, [pid, { ticks }]) => sum + (belongs(pid) ? ticks : 0), 0);
}

function readAllTimes(): Map<number, ProcessTimes> {
  if (!existsSync("/proc/self/stat")) return new Map();
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const pairs = pids.map((pid) => [Number(pid), readTimes(pid)] as const);
  return new Map(pairs.filter((pair): pair is [number, ProcessTimes] => pair[1] !== undefined));
}

/** Starts to count; the returned function gives the microseconds per item since then. Empty without /proc. */
export function startCpuCount(processes: ProcessIds): (items: number) => Record<string, number> {
  const before = readAllTimes();
  const loadBefore = process.cpuUsage();
  return (items) => {
    const after = readAllTimes();
    if (after.size === 0) return {};
    const { user, system } = process.cpuUsage(loadBefore);
    const perItem = Object.entries(processes).map(([name, pids]) => {
      const roots = [pids].flat();
      return [name, ((ticksOf(roots, after) - ticksOf(roots, before)) * US_PER_TICK) / items] as const;
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
