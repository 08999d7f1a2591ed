/** `npm test`: runs every check of the project on private servers; `npm test -- test/http/lists.test.ts` runs single files. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePrograms } from "../src/local/install-programs.ts";
import { processCommand } from "../src/local/process-commands.ts";
import { startServers } from "../src/local/servers.ts";
import { packageRoot } from "../src/runtime/package-root.ts";
import { createDatabase } from "../src/store/database/database.ts";
import { createTablePartitions } from "../workers/table-partitions.ts";
import { runChecks } from "./driver/checks.ts";
import { type AssertionCount, say, saySlowest, sumCounts } from "./driver/count.ts";
import { testEnvironment } from "./driver/environment.ts";
import { runFiles, stopFiles, testFiles } from "./driver/test-files.ts";
import { TEST_PROGRAMS } from "./fixtures/servers/programs.ts";

/** More runners than cores, because most files wait more than they compute. */
const RUNNER_COUNT = availableParallelism() + 3;

const runInSequence = (files: readonly string[], env: Record<string, string>): Promise<AssertionCount[]> =>
  runFiles({ light: files, heavy: [], runners: 1, env });

async function runAll(env: Record<string, string>): Promise<AssertionCount[]> {
  const { light, heavy, alone } = testFiles();
  const counts = await runFiles({ light, heavy, runners: RUNNER_COUNT, env });
  return [...counts, ...(await runInSequence(alone, env))];
}

async function main(chosen: readonly string[]): Promise<AssertionCount> {
  // The static checks need no servers, so they start before them.
  const checks = chosen.length > 0 ? Promise.resolve([]) : runChecks();
  // All programs are ensured together, so that one message names all missing ones. Single files install their own.
  if (chosen.length === 0) ensurePrograms(TEST_PROGRAMS, process.env.PATH ?? "", say);
  const folder = mkdtempSync(join(tmpdir(), "herald-test-"));
  chmodSync(folder, 0o711);
  const options = { folder, env: testEnvironment(), durable: false, redisDatabases: 1_000, say };
  const { DATABASE_URL, REDIS_URL, stop } = await startServers(options);
  try {
    await makeTemplateDatabase(DATABASE_URL, REDIS_URL);
    const servers = { TEST_DATABASE_URL: DATABASE_URL, TEST_REDIS_URL: REDIS_URL };
    const env = testEnvironment(servers);
    const counts = await (chosen.length > 0 ? runInSequence(chosen, env) : runAll(env));
    return sumCounts([...counts, ...(await checks)]);
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Migrates the server's first database, which test files clone. */
async function makeTemplateDatabase(DATABASE_URL: string, REDIS_URL: string): Promise<void> {
  const [program, ...args] = processCommand(packageRoot(), "migrate", "node");
  const keys = { ENCRYPTION_KEYS: `t:${Buffer.alloc(32).toString("base64")}`, JWT_SECRET: "t".repeat(32) };
  const env = testEnvironment({ DATABASE_URL, REDIS_URL, LOG_LEVEL: "warn", ...keys });
  const { status } = spawnSync(program, args, { env, stdio: "inherit" });
  if (status !== 0) throw new Error("the migrations could not be applied; see the output above");
  // Creates the partitions once; otherwise every process of every test would create them in its clone.
  const db = createDatabase({ DATABASE_URL, DATABASE_POOL: 1, DATABASE_PREPARED: true }, () => {});
  await createTablePartitions({ EVENT_RETENTION_DAYS: 30, MESSAGE_RETENTION_DAYS: 90 }, db, Date.now());
  await db.close();
}

// A signal stops the test files; this process continues in order to stop the servers.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stopFiles);

const { passed, failed } = await main(process.argv.slice(2)).catch((error: unknown): AssertionCount => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return { passed: 0, failed: 1 };
});
saySlowest();
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
