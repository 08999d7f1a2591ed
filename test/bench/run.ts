/**
 * `npm run bench`: measures Herald beside other implementations on private servers. Options: --only=CASE[,CASE],
 * --rounds=5, --scale=1 (multiplies the counts), --smoke (one round with a few items), --write (updates docs/benchmarks.*).
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { startServers } from "../../src/local/servers.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { testEnvironment } from "../driver/environment.ts";
import { say } from "../driver/outcomes.ts";
import { makeTemplateDatabase } from "../driver/template-database.ts";
import { readOptions } from "./cases.ts";
import { describeMachine, reportResults } from "./report.ts";
import { runCases } from "./run-cases.ts";

const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interruption.abort());

const MAX_QUIET_LOAD = 0.5;

const PEERS_FOLDER = join(packageRoot(), "test/bench/peers");

/** Installs the packages of the peers, unless those of the lock file are there. */
function installPeers(): void {
  const [lockFile, installed] = ["package-lock.json", "node_modules/.package-lock.json"].map((file) =>
    join(PEERS_FOLDER, file),
  ) as [string, string];
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lockFile).mtimeMs) return;
  say("Installing the packages of the peers ...");
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], {
    cwd: PEERS_FOLDER,
    stdio: "inherit",
  });
  if (status !== 0) throw new Error("npm could not install the packages of the peers");
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (process.platform !== "linux") throw new Error("npm run bench needs Linux: it reads /proc");
  installPeers();
  const loadBefore = loadavg()[0] ?? 0;
  if (loadBefore > MAX_QUIET_LOAD)
    say(`The load average is ${loadBefore}: other work on this machine will distort the rates`);
  const folder = mkdtempSync(join(tmpdir(), "herald-bench-"));
  chmodSync(folder, 0o711);
  // Durable as in production: commits that skip the disk would hide most of the cost.
  const servers = { folder, env: testEnvironment(), durable: true, redisDatabases: 1_000, say };
  const { DATABASE_URL, REDIS_URL, stop } = await startServers(servers);
  try {
    await makeTemplateDatabase(DATABASE_URL, REDIS_URL);
    // The fixtures create databases on the servers with these names.
    Object.assign(process.env, { TEST_DATABASE_URL: DATABASE_URL, TEST_REDIS_URL: REDIS_URL });
    const machine = await describeMachine(DATABASE_URL, REDIS_URL);
    const run = { date: new Date().toISOString(), machine, loadBefore };
    const results = await runCases({ ...options, say, signal: interruption.signal });
    reportResults(results, { run, write: options.write, say });
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
