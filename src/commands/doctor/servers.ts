import { awaitConnection, createProducerClient } from "../../queue/redis.ts";
import { isWriteRefusal, probeRedisWrites } from "../../queue/redis-writes.ts";
import { tagsOf } from "../../queue/wake-ups.ts";
import type { Config } from "../../runtime/config/config.ts";
import { SECOND } from "../../runtime/durations.ts";
import { createSecretBox } from "../../security/secret-box.ts";
import { createDatabase, type Database } from "../../store/database/database.ts";
import { inspectMigrations, type MigrationState } from "../../store/database/migrations.ts";
import { findSealedColumns, listKeyUsage } from "../../store/database/sealed-columns.ts";
import { countAliveWorkers } from "../../store/processes/workers.ts";
import { tryOpen } from "../secrets.ts";
import { type Finding, failed, ok, rootCauseMessage, warning } from "./finding.ts";
import { examineHold, examineQueueRows } from "./queue.ts";
import { examineApiKeys } from "./tenants.ts";

const PING_TIMEOUT_MS = 5 * SECOND;

/** Host and port only: the URL may contain a password. */
const hostOf = (address: string) => new URL(address).host;

/** Checks Postgres, and the migrations, secrets, API keys, workers, the hold and the rows of the queue in it. */
export async function examinePostgres(db: Database, config: Partial<Config>): Promise<Finding[]> {
  const host = hostOf(config.DATABASE_URL as string);
  try {
    await db.ping(PING_TIMEOUT_MS);
  } catch (error) {
    const fix =
      "start the server, create the database, or correct DATABASE_URL (host, password, sslmode, firewall)";
    return [failed("postgres", `${host} cannot be used: ${rootCauseMessage(error)}`, fix)];
  }
  const migrations = await examineMigrations(db, config);
  const rest =
    migrations.status === "ok"
      ? [
          await examineSecrets(db, config),
          await examineApiKeys(db),
          ...(await examineWorkers(db)),
          await examineHold(db),
          await examineQueueRows(db),
        ]
      : [];
  return [ok("postgres", `${host} answers`), migrations, ...rest];
}

const RESTORE =
  "restore these files as released (herald migrate refuses to run until then) and put the change into a new file in sql/";

/** Checks both URLs: one may be a pooler of the other's database, or they may differ by mistake. */
async function examineMigrations(db: Database, config: Partial<Config>): Promise<Finding> {
  const { DATABASE_URL = "", DATABASE_DIRECT_URL = DATABASE_URL } = config;
  try {
    const [used, direct] = [await inspectMigrations(db), await inspectDirectly(DATABASE_DIRECT_URL)];
    if (used.changed.length > 0)
      return failed("migrations", `changed after they were applied: ${used.changed.join(", ")}`, RESTORE);
    if (used.pending.length === 0) return ok("migrations", "all applied");
    const fix =
      direct.pending.length > 0
        ? "run herald migrate"
        : "DATABASE_DIRECT_URL points to another database: correct it";
    return failed("migrations", `not applied: ${used.pending.join(", ")}`, fix);
  } catch (error) {
    const fix = "correct DATABASE_DIRECT_URL, which migrations use";
    return failed(
      "migrations",
      `${hostOf(DATABASE_DIRECT_URL)} cannot be used: ${rootCauseMessage(error)}`,
      fix,
    );
  }
}

async function inspectDirectly(DATABASE_URL: string): Promise<MigrationState> {
  const db = createDatabase({ DATABASE_URL, DATABASE_POOL: 1, DATABASE_PREPARED: false }, () => {});
  try {
    return await inspectMigrations(db);
  } finally {
    await db.close();
  }
}

async function examineSecrets(db: Database, { ENCRYPTION_KEYS: keys }: Partial<Config>): Promise<Finding> {
  if (!keys) return failed("secrets", "cannot be checked without ENCRYPTION_KEYS", "fix that setting first");
  const box = createSecretBox(keys);
  let stale = 0;
  for (const column of await findSealedColumns(db))
    for (const { keyId, count, sample } of await listKeyUsage(db, column)) {
      if (tryOpen(box, column, sample) === undefined)
        return failed(
          "secrets",
          `some are encrypted with the key "${keyId}", which ENCRYPTION_KEYS lacks or has with another value`,
          "restore that key in ENCRYPTION_KEYS, after the first key unless it is the first",
        );
      if (keyId !== box.keyId) stale += count;
    }
  if (stale > 0)
    return warning("secrets", `${stale} are encrypted with an older key`, "run herald secrets rotate");
  return ok("secrets", "all can be decrypted with the first key");
}

const WORKERS = {
  dispatcher: "messages and events are not sent",
  scheduler: "token checks and cleanup jobs do not run",
};

async function examineWorkers(db: Database): Promise<Finding[]> {
  const alive = await countAliveWorkers(db);
  return Object.entries(WORKERS).map(([process, consequence]) => {
    const count = alive.get(process) ?? 0;
    if (count > 0) return ok(process, `${count} running`);
    return warning(process, `none is running: ${consequence}`, "start one; if it stops, its log says why");
  });
}

const ACCEPT_WRITES =
  "use the primary in REDIS_URL, raise maxmemory, repair its snapshots or replicas, or allow this user to write";

type RedisSettings = Pick<Config, "REDIS_URL" | "REDIS_TLS_VERIFY">;

export async function examineRedis(settings: RedisSettings): Promise<Finding> {
  const [first = ""] = settings.REDIS_URL.nodes;
  const redis = createProducerClient(settings);
  let fault: unknown;
  redis.on("error", (error) => {
    fault = error;
  });
  try {
    await awaitConnection(redis, PING_TIMEOUT_MS);
    await probeRedisWrites(redis, { tags: tagsOf(settings), timeoutMs: PING_TIMEOUT_MS });
    return ok("redis", `${hostOf(first)} answers and accepts writes`);
  } catch (error) {
    if (isWriteRefusal(error))
      return failed("redis", `${hostOf(first)} refuses writes: ${rootCauseMessage(error)}`, ACCEPT_WRITES);
    const fix = "start the server, or correct REDIS_URL (host, password, rediss:// and REDIS_TLS_VERIFY)";
    return failed("redis", `${hostOf(first)} cannot be used: ${rootCauseMessage(fault ?? error)}`, fix);
  } finally {
    redis.disconnect();
  }
}
