import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Parser } from "tap-parser";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { type Count, say, sayOutcome } from "./count.ts";

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

/** Ends the files that run; their teardowns stop what they started. */
export const stopFiles = (): void => {
  for (const child of running) child.kill();
};

/** Runs the files, so many at once, says one line for each and in full what failed. */
export async function runFiles(
  files: readonly string[],
  { jobs, env }: { jobs: number; env: Record<string, string> },
): Promise<Count[]> {
  const [waiting, counts]: [string[], Count[]] = [[...files], []];
  const line = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift())
      counts.push(await runFile(file, env));
  };
  await Promise.all(Array.from({ length: jobs }, line));
  return counts;
}

/** A file as it was built: tap's own runner would compile it again, which takes longer than most files run. */
async function runFile(file: string, env: Record<string, string>): Promise<Count> {
  const began = Date.now();
  const built = join(packageRoot(), "dist", file.replace(/\.ts$/, ".js"));
  const child = spawn(process.execPath, ["--enable-source-maps", built], {
    cwd: packageRoot(),
    env: { ...env, TAP_TIMEOUT: "120" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.add(child);
  const count: Count = { passed: 0, failed: 0 };
  const parser = new Parser();
  watch(parser, [file], count);
  child.stdout.pipe(parser);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  running.delete(child);
  if (code !== 0 && count.failed === 0) count.failed += 1; // one that died, or was ended, before it could say what failed
  sayOutcome(count.failed === 0, file, began);
  return count;
}

/** Counts the assertions themselves, not the tests around them. */
function watch(parser: Parser, trail: readonly string[], count: Count): void {
  const children = new Set<string>();
  parser.on("child", (child: Parser) => {
    children.add(child.name);
    watch(child, [...trail, child.name], count);
  });
  parser.on("assert", ({ ok, name, diag, todo, skip }) => {
    if (children.has(name)) return;
    if (ok && !todo && !skip) count.passed += 1;
    else {
      count.failed += 1;
      const { diff, source, ...rest } = diag ?? { todo, skip };
      const title = `FAILED ${[...trail, name].join(" > ")}`;
      say([title, diff, source, JSON.stringify(rest)].filter(Boolean).join("\n"));
    }
  });
}
