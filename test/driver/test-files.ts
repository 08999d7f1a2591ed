import type { ChildProcess } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/runtime/package-root.ts";
import type { Count } from "./count.ts";
import { runInTurn } from "./files-in-turn.ts";

/** Those that take longest, and mostly wait. Last, they would be waited for alone. */
const LONGEST = [
  "crashes/outages",
  "cluster/cluster",
  "crashes/chaos",
  "cluster/start",
  "crashes/shutdown",
  "fairness",
];

const rankOf = (file: string): number => {
  const rank = LONGEST.findIndex((name) => file.endsWith(join("e2e", `${name}.test.ts`)));
  return rank < 0 ? LONGEST.length : rank;
};

/** Those that share a process with what they test, and those that run whole processes of the product, the longest first. */
export function testFiles(): { light: string[]; heavy: string[] } {
  const files = readdirSync(join(packageRoot(), "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join("test", file))
    .sort();
  const heavy = files
    .filter((file) => file.startsWith(join("test", "e2e")))
    .sort((one, other) => rankOf(one) - rankOf(other));
  return { light: files.filter((file) => !heavy.includes(file)), heavy };
}

const running = new Set<ChildProcess>();
let stopped = false;

/** Ends the files that run, whose teardowns stop what they started, and begins no other. */
export const stopFiles = (): void => {
  stopped = true;
  for (const child of running) child.kill();
};

interface Lanes {
  light: readonly string[];
  heavy: readonly string[];
  /** How many files run at once. */
  lanes: number;
  env: Record<string, string>;
}

const HEAVY_LANES = 2;

/**
 * Runs the files, says one line for each and in full what failed. Two lanes begin with the heavy files, which wait a lot,
 * beside the light ones, which compute, and let them go first; no third one, for each is many processes.
 */
export async function runFiles({ light, heavy, lanes, env }: Lanes): Promise<Count[]> {
  const [lights, heavies] = [[...light], [...heavy]];
  const counts: Count[] = [];
  const lane = async (queues: string[][], yields: boolean) => {
    const nextQueue = () => queues.find((files) => files.length > 0);
    const next = () => nextQueue()?.shift();
    while (nextQueue() && !stopped) counts.push(...(await runInTurn({ next, env, yields, onChild: keep })));
  };
  await Promise.all(
    Array.from({ length: lanes }, (_, index) =>
      index < HEAVY_LANES ? lane([heavies, lights], false) : lane([lights], true),
    ),
  );
  return counts;
}

function keep(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}
