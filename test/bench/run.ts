/**
 * `npm run bench`: measures Herald beside other implementations on private servers. Options: --only=CASE[,CASE],
 * --rounds=5, --scale=1 (multiplies the counts), --smoke (one round with a few items), --write (updates docs/benchmarks.*).
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServers } from "../../src/local/servers.ts";
import { testEnvironment } from "../driver/environment.ts";
import { say } from "../driver/outcomes.ts";
import { makeTemplateDatabase } from "../driver/template-database.ts";
import { CASES } from "./cases/index.ts";
import { runCases } from "./frame/run-cases.ts";
import { readOptions } from "./options.ts";
import { describeMachine, readLoadAverage } from "./report/machine.ts";
import { reportResults } from "./report/report.ts";

const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interruption.abort());

const MAX_QUIET_LOAD = 0.5;

async function main(): Promise<void> {
  const { cases, write, ...scope } = readOptions(process.argv.slice(2), CASES);
  const loadBefore = readLoadAverage();
  if (loadBefore > MAX_QUIET_LOAD)
    say(`The load average is ${loadBefore}: other work on this machine will distort the figures`);
  const folder = mkdtempSync(join(tmpdir(), "herald-bench-"));
  chmodSync(folder, 0o711);
  // Durable as in production: commits that skip the disk would hide most of the cost.
  const options = { folder, env: testEnvironment(), durable: true, redisDatabases: 1_000, say };
  const { DATABASE_URL, REDIS_URL, stop } = await startServers(options);
  try {
    await makeTemplateDatabase(DATABASE_URL, REDIS_URL);
    // The fixtures create databases on the servers with these names.
    Object.assign(process.env, { TEST_DATABASE_URL: DATABASE_URL, TEST_REDIS_URL: REDIS_URL });
    const machine = await describeMachine(DATABASE_URL, REDIS_URL);
    const run = { date: new Date().toISOString(), machine, loadBefore };
    const { signal } = interruption;
    const results = await runCases(cases, { ...scope, say, signal });
    reportResults(results, { run, write, say });
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

// A missed target is not a failure: the table shows it.
const exitCode = await main().then(
  () => 0,
  (error: unknown) => {
    say(error instanceof Error ? error.message : String(error));
    return 1;
  },
);
process.exit(exitCode);
