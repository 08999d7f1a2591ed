import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { Parser } from "tap-parser";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { UNDOCUMENTED_EVENT_EXIT_CODE } from "../fixtures/events/stored-events.ts";
import { processorSeconds } from "../fixtures/processes/processor-time.ts";
import { stopGroup } from "../fixtures/processes/stop-group.ts";
import { startChild } from "./children.ts";
import { type Outcome, say, sayOutcome } from "./outcomes.ts";
import { lowerPriority } from "./priority.ts";

/** The test that a runner adds after the tests of a file. */
export const END_OF_FILE = "(end of file)";

/** A file that takes longer is considered hanging and killed. */
const FILE_TIMEOUT_MS = 900_000;

interface FileRun {
  outcome: Outcome;
  startedAt: number;
  watchdog: NodeJS.Timeout;
}

interface RunnerOptions {
  /** Returns the next file to run, or undefined when none is left. */
  nextFile(): string | undefined;
  env: Record<string, string>;
  /** Runs the process with a lower CPU priority. */
  isLowPriority: boolean;
}

/** Runs files in one process until none is left or the process dies, which fails the file that was running. */
export async function runFilesInProcess({ nextFile, env, isLowPriority }: RunnerOptions): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const child = startRunner(env);
  if (isLowPriority) lowerPriority(child, "low");
  let run: FileRun | undefined;
  let secondsSoFar = 0;
  const startNext = () => {
    const file = nextFile();
    run = file === undefined ? undefined : startFileRun(file, child);
    if (run) child.send(run.outcome.name);
    else child.disconnect();
  };
  const finishCurrent = () => {
    if (!run) return;
    const { outcome, startedAt, watchdog } = run;
    // Once per file, because it reads the times of all processes of the machine.
    const seconds = processorSeconds(child.pid as number);
    clearTimeout(watchdog);
    outcome.ms = Date.now() - startedAt;
    outcome.processorSeconds = Math.max(0, seconds - secondsSoFar);
    secondsSoFar = seconds;
    sayOutcome(outcome);
    outcomes.push(outcome);
    run = undefined;
  };
  const parser = new Parser();
  countAssertions(parser, [], () => run);
  let tail = "";
  child.stdout.on("data", (chunk) => {
    parser.write(chunk);
    tail = `${tail}${chunk}`;
    if (tail.includes(`# Subtest: ${END_OF_FILE}`)) {
      tail = "";
      finishCurrent();
      startNext();
    }
    tail = tail.slice(-END_OF_FILE.length * 2);
  });
  startNext();
  await Promise.all([once(child, "exit"), once(child.stdout, "end")]);
  if (run) {
    const { outcome } = run as FileRun;
    outcome.failures.push(`${outcome.name} > the process died`);
    stopGroup(child.pid as number); // the processes that the file had started
    finishCurrent();
  }
  if (child.exitCode === UNDOCUMENTED_EVENT_EXIT_CODE) {
    const failure = "an event is not as documented; see the output above";
    say(`FAILED ${failure}`);
    outcomes.push({ name: "events", ms: 0, passed: 0, failures: [failure] });
  }
  return outcomes;
}

const startRunner = (env: Record<string, string>) =>
  startChild(process.execPath, ["--enable-source-maps", join(packageRoot(), "dist/test/driver/runner.js")], {
    env: { ...env, TAP_TIMEOUT: "0" },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  }) as ChildProcess & { stdout: Readable };

const startFileRun = (file: string, child: ChildProcess): FileRun => ({
  outcome: { name: file, ms: 0, passed: 0, failures: [] },
  startedAt: Date.now(),
  watchdog: setTimeout(() => child.kill("SIGKILL"), FILE_TIMEOUT_MS),
});

/** Counts assertions only, not the tests that contain them. */
function countAssertions(
  parser: Parser,
  parentNames: readonly string[],
  current: () => FileRun | undefined,
): void {
  const children = new Set<string>();
  parser.on("child", (child: Parser) => {
    children.add(child.name);
    countAssertions(child, [...parentNames, child.name], current);
  });
  parser.on("assert", ({ ok, name, diag, todo, skip }) => {
    const run = current();
    if (!run || children.has(name)) return;
    if (ok && !todo && !skip) run.outcome.passed += 1;
    else {
      const title = [run.outcome.name, ...parentNames, name].join(" > ");
      run.outcome.failures.push(title);
      const { diff, source, ...rest } = diag ?? { todo, skip };
      say([`FAILED ${title}`, diff, source, JSON.stringify(rest)].filter(Boolean).join("\n"));
    }
  });
}
