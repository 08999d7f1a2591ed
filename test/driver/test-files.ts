import { readdirSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { mayStart } from "./children.ts";
import type { Outcome } from "./outcomes.ts";
import { runFilesInProcess } from "./run-files-in-process.ts";

/** The slowest files, which mostly wait. They run first, so that the run does not end by waiting for them alone. */
const SLOWEST_FILES = [
  "e2e/cluster/start",
  "e2e/crashes/outages",
  "e2e/cluster/cluster",
  "e2e/crashes/chaos",
  "e2e/crashes/shutdown",
  "e2e/crashes/killed-batch",
  "workers/dispatcher/sending/batches",
  "workers/dispatcher/sending/recovery",
  "workers/scheduler/unexpected-answers",
  "resources/marketing/create-once",
  "resources/marketing/ad-accounts/routes",
  "workers/scheduler/check-tokens",
  "workers/dispatcher/sending/send-message",
  "workers/dispatcher/sending/scheduled-messages",
  "workers/scheduler/maintenance",
  "workers/table-partitions",
].map((name) => join("test", `${name}.test.ts`));

const rankOf = (file: string): number => {
  const rank = SLOWEST_FILES.indexOf(file);
  return rank < 0 ? SLOWEST_FILES.length : rank;
};

interface TestFiles {
  light: string[];
  heavy: string[];
  browser: string[];
  alone: string[];
}

/**
 * Light files test in their own process; heavy files (test/e2e) start processes of Herald, slowest first; browser files
 * open views in a browser. Files that measure times (test/hostile) run one at a time, without the others.
 */
export function testFiles(): TestFiles {
  const files = readdirSync(join(packageRoot(), "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts") && !file.includes("node_modules"))
    .map((file) => join("test", file))
    .filter((file) => !file.startsWith(join("test", "failover"))) // `npm run test:failover` runs them
    .sort()
    .sort((one, other) => rankOf(one) - rankOf(other));
  const filesIn = (folder: string) => files.filter((file) => file.startsWith(join("test", folder)));
  const [e2e, browser, alone] = [filesIn("e2e"), filesIn("e2e/browser"), filesIn("hostile")];
  const heavy = e2e.filter((file) => !browser.includes(file));
  return {
    light: files.filter((file) => !e2e.includes(file) && !alone.includes(file)),
    ...{ heavy, browser, alone },
  };
}

interface RunOptions {
  light: readonly string[];
  heavy?: readonly string[];
  browser?: readonly string[];
  /** Number of files that run concurrently. */
  runners: number;
  env: Record<string, string>;
}

const MAX_HEAVY_RUNNERS = 3;

/**
 * Runs the files and prints one line for each and the details of failures. One runner runs all browser files, because
 * each runner starts a browser. At most MAX_HEAVY_RUNNERS run heavy files, because each starts many processes; the other
 * runners run light files at a lower priority.
 */
export async function runFiles(options: RunOptions): Promise<Outcome[]> {
  const { light, heavy = [], browser = [], runners, env } = options;
  const [lightFiles, heavyFiles, browserFiles] = [[...light], [...heavy], [...browser]];
  const outcomes: Outcome[] = [];
  const runQueues = async (queues: string[][], isLowPriority: boolean) => {
    const nextQueue = () => queues.find((files) => files.length > 0);
    const nextFile = () => nextQueue()?.shift();
    while (nextQueue() && mayStart())
      outcomes.push(...(await runFilesInProcess({ nextFile, env, isLowPriority })));
  };
  const startRunner = (index: number) => {
    if (index === 0) return runQueues([browserFiles, heavyFiles, lightFiles], false);
    return index < MAX_HEAVY_RUNNERS
      ? runQueues([heavyFiles, lightFiles], false)
      : runQueues([lightFiles], true);
  };
  await Promise.all(Array.from({ length: runners }, (_, index) => startRunner(index)));
  return outcomes;
}
