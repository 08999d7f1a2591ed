import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { Parser } from "tap-parser";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { type Count, say, sayOutcome } from "./count.ts";
import { yieldProcessor } from "./priority.ts";

/** The test that a runner adds after those of a file. */
export const END_OF_FILE = "(end of file)";

/** A file that takes longer hangs. */
const PATIENCE = 120_000;

interface Turn {
  file: string;
  began: number;
  count: Count;
  watchdog: NodeJS.Timeout;
}

interface InTurn {
  /** The next file to run, undefined when there is none. */
  next(): string | undefined;
  env: Record<string, string>;
  /** Whether it leaves the processor to those that are not. */
  yields: boolean;
  onChild(child: ChildProcess): void;
}

/** Runs files in one process until there are none left, or the process dies: then the one that ran has failed. */
export async function runInTurn({ next, env, yields, onChild }: InTurn): Promise<Count[]> {
  const counts: Count[] = [];
  const child = startRunner(env);
  if (yields) yieldProcessor(child);
  onChild(child);
  let turn: Turn | undefined;
  const begin = () => {
    const file = next();
    turn = file === undefined ? undefined : newTurn(file, child);
    if (turn) child.send(turn.file);
    else child.disconnect();
  };
  const end = () => {
    if (!turn) return;
    clearTimeout(turn.watchdog);
    sayOutcome(turn.count.failed === 0, turn.file, turn.began);
    counts.push(turn.count);
    turn = undefined;
  };
  const parser = new Parser();
  watch(parser, [], () => turn);
  let tail = "";
  child.stdout.on("data", (chunk) => {
    parser.write(chunk);
    tail = `${tail}${chunk}`;
    if (tail.includes(`# Subtest: ${END_OF_FILE}`)) {
      tail = "";
      end();
      begin();
    }
    tail = tail.slice(-END_OF_FILE.length * 2);
  });
  begin();
  await Promise.all([once(child, "exit"), once(child.stdout, "end")]);
  if (turn) {
    (turn as Turn).count.failed += 1; // it died, or was ended, before it could say what failed
    end();
  }
  return counts;
}

const startRunner = (env: Record<string, string>) =>
  spawn(process.execPath, ["--enable-source-maps", join(packageRoot(), "dist/test/driver/runner.js")], {
    cwd: packageRoot(),
    env: { ...env, TAP_TIMEOUT: "0" },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  }) as ChildProcess & { stdout: Readable };

const newTurn = (file: string, child: ChildProcess): Turn => ({
  file,
  began: Date.now(),
  count: { passed: 0, failed: 0 },
  watchdog: setTimeout(() => child.kill("SIGKILL"), PATIENCE),
});

/** Counts the assertions themselves, not the tests around them. */
function watch(parser: Parser, trail: readonly string[], current: () => Turn | undefined): void {
  const children = new Set<string>();
  parser.on("child", (child: Parser) => {
    children.add(child.name);
    watch(child, [...trail, child.name], current);
  });
  parser.on("assert", ({ ok, name, diag, todo, skip }) => {
    const turn = current();
    if (!turn || children.has(name)) return;
    if (ok && !todo && !skip) turn.count.passed += 1;
    else {
      turn.count.failed += 1;
      const { diff, source, ...rest } = diag ?? { todo, skip };
      const title = `FAILED ${[turn.file, ...trail, name].join(" > ")}`;
      say([title, diff, source, JSON.stringify(rest)].filter(Boolean).join("\n"));
    }
  });
}
