/** Every check of the project, on servers of its own: `npm test`, or `npm test -- test/http/lists.test.ts` for some files. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Parser } from "tap-parser";
import { processCommand } from "../src/local/process-commands.ts";
import { startServers } from "../src/local/servers.ts";
import { packageRoot } from "../src/runtime/package-root.ts";

interface Count {
  passed: number;
  failed: number;
}

const root = packageRoot();
let running: ChildProcess | undefined;
const say = (line: string) => void process.stdout.write(`${line}\n`);

/** The environment of the tests: settings of whoever runs them must not reach into it. */
function testEnvironment(extra: Record<string, string>): Record<string, string> {
  const { PATH = "", HOME = "", CI, LANG } = process.env;
  return { PATH, HOME, ...(CI ? { CI } : {}), ...(LANG ? { LANG } : {}), ...extra };
}

/** One command that must succeed, counted as one test. */
function check(name: string, command: string, args: readonly string[]): Count {
  const began = Date.now();
  const { status } = spawnSync(join(root, "node_modules/.bin", command), args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
  });
  say(`${status === 0 ? "ok    " : "FAILED"} ${name} (${Date.now() - began} ms)`);
  return { passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1 };
}

/** Writes the OpenAPI document, made without any setting as on a machine that has none, and answers its file. */
function describedApi(): string {
  const [program, ...args] = processCommand(root, "openapi", "node");
  const { stdout } = spawnSync(program, args, {
    env: testEnvironment({}),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const file = join(root, "dist/openapi.json");
  writeFileSync(file, stdout);
  return file;
}

/** Test files in a folder, the slow ones (which need the machine for themselves) apart. */
function testFiles(): { together: string[]; alone: string[] } {
  const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join("test", file))
    .sort();
  const alone = files.filter((file) => file.startsWith(join("test", "e2e")));
  return { together: files.filter((file) => !alone.includes(file)), alone };
}

/** Runs tap and says one line per file, and in full what failed. */
async function runTap(files: readonly string[], jobs: number, env: Record<string, string>): Promise<Count> {
  if (files.length === 0) return { passed: 0, failed: 0 };
  const options = ["run", "--disable-coverage", "--reporter=tap", `--jobs=${jobs}`, "--timeout=120"];
  const tap = spawn(join(root, "node_modules/.bin/tap"), [...options, ...files], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  running = tap;
  const count: Count = { passed: 0, failed: 0 };
  const parser = new Parser();
  watch(parser, [], count);
  parser.on("assert", ({ ok, name, time }) =>
    say(`${ok ? "ok    " : "FAILED"} ${name} (${Math.round(time ?? 0)} ms)`),
  );
  tap.stdout.pipe(parser);
  const ended = new Promise<number | null>((resolve) => tap.once("close", resolve));
  const exitCode = await ended;
  if (exitCode !== 0 && count.failed === 0) count.failed += 1; // a file that died before its first assertion, or a run cut off
  return count;
}

/** Counts the assertions themselves, not the tests and files around them. */
function watch(parser: Parser, trail: readonly string[], count: Count): void {
  parser.on("child", (child: Parser) => watch(child, [...trail, child.name], count));
  const children = new Set<string>();
  parser.on("child", (child: Parser) => children.add(child.name));
  parser.on("assert", ({ ok, name, diag, todo, skip }) => {
    if (children.has(name)) return;
    if (ok && !todo && !skip) count.passed += 1;
    else {
      count.failed += 1;
      const { diff, source, ...rest } = diag ?? { todo, skip };
      say(
        [`FAILED ${[...trail, name].join(" > ")}`, diff, source, JSON.stringify(rest)]
          .filter(Boolean)
          .join("\n"),
      );
    }
  });
}

async function main(): Promise<Count> {
  const chosen = process.argv.slice(2);
  const { together, alone } = chosen.length > 0 ? { together: [], alone: chosen } : testFiles();
  const counts: Count[] = [];
  if (chosen.length === 0)
    counts.push(
      check("lint and format", "biome", ["ci", "--colors=off"]),
      check("types", "tsc", []),
      check("api description", "redocly", ["lint", describedApi()]),
    );
  const folder = mkdtempSync(join(tmpdir(), "herald-test-"));
  chmodSync(folder, 0o711);
  const servers = await startServers({
    folder,
    env: testEnvironment({}),
    durable: false,
    redisDatabases: 1_000,
    say,
  });
  try {
    const env = testEnvironment({
      TEST_DATABASE_URL: servers.DATABASE_URL,
      TEST_REDIS_URL: servers.REDIS_URL,
    });
    makeTemplate(servers.DATABASE_URL, servers.REDIS_URL);
    counts.push(await runTap(together, availableParallelism(), env), await runTap(alone, 1, env));
  } finally {
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  const total = (pick: (count: Count) => number) => counts.reduce((sum, count) => sum + pick(count), 0);
  return { passed: total(({ passed }) => passed), failed: total(({ failed }) => failed) };
}

/** The server's first database, migrated: test files clone it. */
function makeTemplate(databaseUrl: string, redisUrl: string): void {
  const [program, ...args] = processCommand(root, "migrate", "node");
  const keys = { ENCRYPTION_KEYS: `t:${Buffer.alloc(32).toString("base64")}`, JWT_SECRET: "t".repeat(32) };
  const env = testEnvironment({ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, LOG_LEVEL: "warn", ...keys });
  const { status } = spawnSync(program, args, { env, stdio: "inherit" });
  if (status !== 0) throw new Error("the migrations could not be applied");
}

// Whoever ends the run ends tap; this process still has to stop the servers.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => running?.kill());

const { passed, failed } = await main().catch((error: unknown): Count => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return { passed: 0, failed: 1 };
});
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
