/** `npm test`: runs every check of the project on private servers; `npm test -- test/http/lists.test.ts` runs single files. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { ensurePrograms } from "../src/local/programs.ts";
import { startServers } from "../src/local/servers.ts";
import { runChecks } from "./driver/checks.ts";
import { stopChildren } from "./driver/children.ts";
import { testEnvironment } from "./driver/environment.ts";
import { type Outcome, say, saySlowest, saySummary } from "./driver/outcomes.ts";
import { makeTemplateDatabase } from "./driver/template-database.ts";
import { runFiles, testFiles } from "./driver/test-files.ts";
import { processorSeconds, stolenSeconds } from "./fixtures/processes/processor-time.ts";
import { volatileFolder } from "./fixtures/servers/folders.ts";
import { TEST_PROGRAMS } from "./fixtures/servers/programs.ts";

/** More runners than cores, because most files wait more than they compute. */
const RUNNER_COUNT = availableParallelism() + 4;

/** Attacks that take minutes together; `npm run test:hostile` runs them. */
const LONG_ATTACKS = join("test", "hostile", "long");

const runInSequence = (files: readonly string[], env: Record<string, string>): Promise<Outcome[]> =>
  runFiles({ light: files, runners: 1, env });

/** The static checks run beside the files that leave a part of the processor unused. */
async function runAll(env: Record<string, string>): Promise<Outcome[]> {
  const { alone, ...files } = testFiles();
  const timed = alone.filter((file) => !file.startsWith(LONG_ATTACKS));
  const [checks, outcomes] = await Promise.all([runChecks(), runInSequence(timed, env)]);
  return [...checks, ...outcomes, ...(await runFiles({ ...files, runners: RUNNER_COUNT, env }))];
}

async function main(chosen: readonly string[]): Promise<Outcome[]> {
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
    return await (chosen.length > 0 ? runInSequence(chosen, env) : runAll(env));
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

// A signal stops the test files and checks; this process continues in order to stop the servers.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stopChildren);

const [startedAt, stolenBefore] = [performance.now(), stolenSeconds()];
const outcomes = await main(process.argv.slice(2)).catch((error: unknown): Outcome[] => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return [{ name: "npm test", ms: 0, passed: 0, failures: [`npm test > ${error}`] }];
});
const summary = {
  seconds: (performance.now() - startedAt) / 1_000,
  processorSeconds: processorSeconds(process.pid),
  stolenSeconds: stolenSeconds() - stolenBefore,
  passed: outcomes.reduce((sum, { passed }) => sum + passed, 0),
  failures: outcomes.flatMap(({ failures }) => failures),
};
saySlowest(outcomes);
saySummary(summary);
const end = () => process.exit(summary.failures.length === 0 && summary.passed > 0 ? 0 : 1);
if (process.send) process.send(summary, end);
else end();
