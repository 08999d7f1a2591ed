import { spawnSync } from "node:child_process";
import { processCommand } from "../../src/local/cluster.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { createDatabase } from "../../src/store/database/database.ts";
import { createTablePartitions } from "../../workers/table-partitions.ts";
import { testEnvironment } from "./environment.ts";

/** Migrates the server's first database, which test files and cases of the benchmark clone. */
export async function makeTemplateDatabase(DATABASE_URL: string, REDIS_URL: string): Promise<void> {
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
