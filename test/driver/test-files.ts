import type { ChildProcess } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/runtime/package-root.ts";
import type { AssertionCount } from "./count.ts";
import { runFilesInProcess } from "./run-files-in-process.ts";

/** Those that take longest, and mostly wait. Last, they would be waited for alone. */
const SLOWEST_FILES = [
  "crashes/outages",
  "cluster/cluster",
  "crashes/chaos",
  "cluster/start",
  "crashes/shutdown",
  "fairness",
];

const rankOf = (file: string): number => {
  const rank = SLOWEST_FILES.findIndex((name) => file.endsWith(join("e2e", `${name}.test.ts`)));
  return rank < 0 ? SLOWEST_FILES.length : rank;
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

interface RunOptions {
  light: readonly string[];
  heavy: readonly string[];
  /** How many files run at once. */
  runners: number;
  env: Record<string, string>;
}

const MAX_HEAVY_RUNNERS = 2;

/**
 * Runs the files, says one line for each and in full what failed. Two lanes begin with the heavy files, which wait a lot,
 * beside the light ones, which compute, and let them go first; no third one, for each is many processes.
 */
export async function runFiles({ light, heavy, runners, env }: RunOptions): Promise<AssertionCount[]> {
  const [lightFiles, heavyFiles] = [[...light], [...heavy]];
  const counts: AssertionCount[] = [];
  const runQueues = async (queues: string[][], isLowPriority: boolean) => {
    const nextQueue = () => queues.find((files) => files.length > 0);
    const nextFile = () => nextQueue()?.shift();
    while (nextQueue() && !stopped)
      counts.push(...(await runFilesInProcess({ nextFile, env, isLowPriority, onChild: trackChild })));
  };
  await Promise.all(
    Array.from({ length: runners }, (_, index) =>
      index < MAX_HEAVY_RUNNERS ? runQueues([heavyFiles, lightFiles], false) : runQueues([lightFiles], true),
    ),
  );
  return counts;
}

function trackChild(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}
