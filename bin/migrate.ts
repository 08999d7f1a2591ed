import "reflect-metadata";
import { tryReadConfig } from "../src/composition/run-workers.ts";
import { createLog } from "../src/runtime/log.ts";
import { applyMigrations } from "../src/store/database/migrations.ts";

const config = tryReadConfig("migrate", process.env);
if (!config) process.exit(1);
const log = createLog({ ...config, process: "migrate" });
try {
  const applied = await applyMigrations(config.DATABASE_DIRECT_URL);
  log.info("migrations.applied", { count: applied.length, files: applied.join(",") });
} catch (error) {
  log.error("migrations.failed", { err: error });
  process.exit(1);
}
