import type { ChildProcess } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/runtime/package-root.ts";
import type { Count } from "./count.ts";
import { runInTurn } from "./files-in-turn.ts";

/** Those that share a process with what they test, and those that run whole processes of the product. */
export function testFiles(): { light: string[]; heavy: string[] } {
  const files = readdirSync(join(packageRoot(), "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join("test", file))
    .sort();
  const heavy = files.filter((file) => file.startsWith(join("test", "e2e")));
  return { light: files.filter((file) => !heavy.includes(file)), heavy };
}

const running = new Set<ChildProcess>();
let stopped = false;

/** Ends the files that run, whose teardowns stop what they started, and begins no other. */
export const stopFiles = (): void => {
  stopped = true;
  for (const child of running) child.kill();
};

/** Runs the files, so many at once, says one line for each and in full what failed. */
export async function runFiles(
  files: readonly string[],
  { jobs, env }: { jobs: number; env: Record<string, string> },
): Promise<Count[]> {
  const waiting = [...files];
  const counts: Count[] = [];
  const line = async () => {
    while (waiting.length > 0 && !stopped)
      counts.push(...(await runInTurn({ next: () => waiting.shift(), env, onChild: keep })));
  };
  await Promise.all(Array.from({ length: jobs }, line));
  return counts;
}

function keep(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}
