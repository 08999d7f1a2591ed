import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Program } from "../../src/local/programs.ts";
import { startServers } from "../../src/local/servers.ts";
import { volatileFolder } from "../fixtures/servers/folders.ts";
import { stopChildren } from "./children.ts";
import { testEnvironment } from "./environment.ts";
import { say } from "./outcomes.ts";
import { makeTemplateDatabase } from "./template-database.ts";

/** Runs the work with the environment of test files: a migrated Postgres and a Redis, which stop afterwards. */
export async function withTestServers<T>(
  redisProgram: Program,
  work: (env: Record<string, string>) => Promise<T>,
): Promise<T> {
  // A signal stops the test files and checks; this process continues in order to stop the servers.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stopChildren);
  const folder = mkdtempSync(join(volatileFolder(), "herald-test-"));
  chmodSync(folder, 0o711);
  const options = {
    folder,
    env: testEnvironment(),
    durable: false,
    redisDatabases: 1_000,
    redisProgram,
    say,
  };
  const { DATABASE_URL, REDIS_URL, stop } = await startServers(options);
  try {
    await makeTemplateDatabase(DATABASE_URL, REDIS_URL);
    const servers = { TEST_DATABASE_URL: DATABASE_URL, TEST_REDIS_URL: REDIS_URL };
    return await work(testEnvironment({ ...servers, TEST_REDIS_PROGRAM: redisProgram.name }));
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
