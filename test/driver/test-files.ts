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

interface Lanes {
  light: readonly string[];
  heavy: readonly string[];
  /** How many files run at once while there are light ones; the heavy ones after them in fewer lanes. */
  lanes: number;
  env: Record<string, string>;
}

const HEAVY_LANES = 2;

/** Runs the files, says one line for each and in full what failed. A lane that has no light file left goes on with the heavy ones. */
export async function runFiles({ light, heavy, lanes, env }: Lanes): Promise<Count[]> {
  const waiting = { light: [...light], heavy: [...heavy] };
  const counts: Count[] = [];
  const lane = async (takesHeavy: boolean) => {
    const next = () => waiting.light.shift() ?? (takesHeavy ? waiting.heavy.shift() : undefined);
    const hasNext = () => waiting.light.length + (takesHeavy ? waiting.heavy.length : 0) > 0;
    while (hasNext() && !stopped) counts.push(...(await runInTurn({ next, env, onChild: keep })));
  };
  await Promise.all(Array.from({ length: lanes }, (_, index) => lane(index < HEAVY_LANES)));
  return counts;
}

function keep(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}
