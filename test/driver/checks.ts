import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { processCommand } from "../../src/local/cluster.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { mayStart, startChild } from "./children.ts";
import { testEnvironment } from "./environment.ts";
import { type Outcome, say, sayOutcome } from "./outcomes.ts";
import { lowerPriority } from "./priority.ts";

/** Runs the static checks: lint, types, OpenAPI document, regular expressions. Each counts as one assertion. */
export async function runChecks(): Promise<Outcome[]> {
  return [
    await check("lint and format", packageCommand("biome"), ["ci", "--colors=off"]),
    // One thread takes less processor time than several, which repeat a part of the work.
    await check("types", process.execPath, [TYPE_CHECKER, "--checkers", "1"]),
    await check("types of the console", process.execPath, [TYPE_CHECKER, "-p", "src/console"]),
    await check("OpenAPI document", packageCommand("redocly"), [
      "lint",
      "--config",
      "tools/lint/redocly.yaml",
      writeOpenapiDocument(),
    ]),
    await check("types of the examples", process.execPath, [TYPE_CHECKER, "-p", "examples"]),
    await check("types of the SDK for its users", process.execPath, [TYPE_CHECKER, "-p", "test/sdk/types"]),
    await check("regular expressions", process.execPath, ["tools/lint/regular-expressions.js"]),
  ];
}

/** The compiler, a Go program, takes a third less processor time when it collects garbage less often (0.9 GB of memory). */
const RARE_COLLECTIONS = { GOGC: "400" };

const DOCUMENT = "dist/openapi.json";
const TYPE_CHECKER = "node_modules/typescript/bin/tsc";

const packageCommand = (name: string) => join(packageRoot(), "node_modules/.bin", name);

async function check(name: string, command: string, args: readonly string[]): Promise<Outcome> {
  if (!mayStart()) return { name, ms: 0, passed: 0, failures: [name] };
  const startedAt = Date.now();
  const env = testEnvironment({ REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", ...RARE_COLLECTIONS });
  const child = startChild(command, args, { env });
  lowerPriority(child, "lowest"); // the files of test/hostile that run beside it measure times
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => output.push(String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (code !== 0) say(output.join(""));
  const isPassed = code === 0;
  const outcome = {
    name,
    ms: Date.now() - startedAt,
    passed: isPassed ? 1 : 0,
    failures: isPassed ? [] : [name],
  };
  sayOutcome(outcome);
  return outcome;
}

/** Writes the OpenAPI document, generated without any setting, and returns the file's path. */
function writeOpenapiDocument(): string {
  const [program, ...args] = processCommand(packageRoot(), "openapi", "node");
  const file = openSync(join(packageRoot(), DOCUMENT), "w");
  spawnSync(program, args, { env: testEnvironment(), stdio: ["ignore", file, "inherit"] });
  closeSync(file);
  return DOCUMENT;
}
