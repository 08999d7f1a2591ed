/**
 * `npm run test:repeat -- --runs N [--burn K] [file ...]`: runs the whole suite N times, or each file N times on the same
 * servers, beside K processes that each use a core, and prints which tests failed under which conditions.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { packageRoot } from "../src/runtime/package-root.ts";
import { type Summary, say } from "./driver/outcomes.ts";

interface RepeatOptions {
  runs: number;
  burn: number;
  files: string[];
}

function readOptions(args: readonly string[]): RepeatOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { runs: { type: "string" }, burn: { type: "string", default: "0" } },
    allowPositionals: true,
  });
  const [runs, burn] = [Number(values.runs), Number(values.burn)];
  if (!Number.isInteger(runs) || runs < 1 || !Number.isInteger(burn) || burn < 0)
    throw new Error("usage: npm run test:repeat -- --runs N [--burn K] [file ...]");
  return { runs, burn, files: positionals };
}

/** Uses one core until it is killed, or until its parent has ended and can no longer kill it. */
const BURNING_PROGRAM = `
const parent = process.ppid;
const burn = () => {
  for (const end = Date.now() + 1_000; Date.now() < end; );
  if (process.ppid === parent) setImmediate(burn);
};
burn();`;

const running = new Set<ChildProcess>();

function start(
  args: readonly string[],
  stdio: "ignore" | ["ignore", "inherit", "inherit", "ipc"],
): ChildProcess {
  const child = spawn(process.execPath, args, { cwd: packageRoot(), stdio });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Runs the files, or the whole suite if there are none; undefined when the run ended without a report. */
async function runOnce(files: readonly string[]): Promise<Summary | undefined> {
  const child = start(
    [join(packageRoot(), "dist/test/run.js"), ...files],
    ["ignore", "inherit", "inherit", "ipc"],
  );
  let summary: Summary | undefined;
  child.once("message", (message) => {
    summary = message as Summary;
  });
  await once(child, "exit");
  return summary;
}

const cells = (values: readonly unknown[]) => `| ${values.join(" | ")} |`;

function sayTable(head: readonly string[], rows: readonly (readonly unknown[])[]): void {
  for (const row of [head, head.map(() => "---"), ...rows]) say(cells(row));
}

function countByTitle(failures: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const title of failures) counts.set(title, (counts.get(title) ?? 0) + 1);
  return counts;
}

const { runs, burn, files } = readOptions(process.argv.slice(2));
const conditions = burn === 0 ? "idle" : `beside ${burn} burning processes`;
let isInterrupted = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    isInterrupted = true;
    for (const child of running) child.kill();
  });
for (let count = 0; count < burn; count++) start(["-e", BURNING_PROGRAM], "ignore");

const summaries: (Summary | undefined)[] = [];
if (files.length > 0) summaries.push(await runOnce(Array.from({ length: runs }, () => files).flat()));
else for (let run = 0; run < runs && !isInterrupted; run++) summaries.push(await runOnce([]));
for (const child of running) child.kill();

say("");
sayTable(
  ["condition", "seconds", "processor seconds", "stolen seconds", "passed", "failed"],
  summaries.map((summary) =>
    summary
      ? [
          conditions,
          Math.round(summary.seconds),
          Math.round(summary.processorSeconds),
          Math.round(summary.stolenSeconds),
          summary.passed,
          summary.failures.length,
        ]
      : [conditions, "ended without a report", "", "", "", ""],
  ),
);
const failures = countByTitle(summaries.flatMap((summary) => summary?.failures ?? []));
say("");
if (failures.size === 0) say("No test failed.");
else
  sayTable(
    ["test", "failures", "conditions"],
    [...failures].map(([title, count]) => [title, `${count} of ${runs}`, conditions]),
  );
process.exit(summaries.every((summary) => summary?.failures.length === 0) ? 0 : 1);
