/** `npm test`: runs every check of the project on private servers; `npm test -- test/http/lists.test.ts` runs single files. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { ensurePrograms } from "../src/local/install-programs.ts";
import { startServers } from "../src/local/servers.ts";
import { runChecks } from "./driver/checks.ts";
import { type AssertionCount, say, saySlowest, sumCounts } from "./driver/count.ts";
import { testEnvironment } from "./driver/environment.ts";
import { makeTemplateDatabase } from "./driver/template-database.ts";
import { runFiles, stopFiles, testFiles } from "./driver/test-files.ts";
import { volatileFolder } from "./fixtures/servers/folders.ts";
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
  const folder = mkdtempSync(join(volatileFolder(), "herald-test-"));
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

// A signal stops the test files; this process continues in order to stop the servers.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stopFiles);

const { passed, failed } = await main(process.argv.slice(2)).catch((error: unknown): AssertionCount => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return { passed: 0, failed: 1 };
});
saySlowest();
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
