import { awaitConnection, connectProducer, pingRedis } from "../../dispatch/redis.ts";
import type { Config } from "../../runtime/config.ts";
import { SECOND } from "../../runtime/durations.ts";
import { createLog } from "../../runtime/log.ts";
import type { Database } from "../../store/database.ts";
import { pendingMigrations } from "../../store/migrations.ts";
import { countByKey, findSealedColumns } from "../../store/sealed-columns.ts";
import { type Finding, failed, ok, reasonOf, warning } from "./finding.ts";

const PATIENCE = 5 * SECOND;

/** Host and port only: a password may stand in the address. */
const placeOf = (address: string) => new URL(address).host;

/** Postgres, and what is in it. */
export async function examinePostgres(db: Database, config: Partial<Config>): Promise<Finding[]> {
  const place = placeOf(config.DATABASE_URL as string);
  try {
    await db.ping(PATIENCE);
  } catch (error) {
    const mend = "start the server, or correct DATABASE_URL (host, password, sslmode, firewall)";
    return [failed("postgres", `no answer from ${place}: ${reasonOf(error)}`, mend)];
  }
  const migrations = await examineMigrations(config.DATABASE_DIRECT_URL as string);
  const rest = migrations.status === "ok" ? [await examineSecrets(db, config)] : [];
  return [ok("postgres", `${place} answers`), migrations, ...rest];
}

async function examineMigrations(address: string): Promise<Finding> {
  try {
    const pending = await pendingMigrations(address);
    if (pending.length === 0) return ok("migrations", "all applied");
    return failed("migrations", `not applied: ${pending.join(", ")}`, "run herald migrate");
  } catch (error) {
    const mend = "correct DATABASE_DIRECT_URL, which migrations use";
    return failed("migrations", `cannot be read from ${placeOf(address)}: ${reasonOf(error)}`, mend);
  }
}

async function examineSecrets(db: Database, { ENCRYPTION_KEYS: keys }: Partial<Config>): Promise<Finding> {
  if (!keys)
    return failed("secrets", "cannot be looked at without ENCRYPTION_KEYS", "mend that setting first");
  const counts = new Map<string, number>();
  for (const column of await findSealedColumns(db))
    for (const [key, count] of await countByKey(db, column)) counts.set(key, (counts.get(key) ?? 0) + count);
  const unknown = [...counts.keys()].filter((id) => !keys.some((key) => key.id === id));
  if (unknown.length > 0)
    return failed(
      "secrets",
      `some are encrypted by ${unknown.join(", ")}, which ENCRYPTION_KEYS lacks`,
      "put the lost keys back behind the first one",
    );
  const stale = [...counts].reduce((sum, [id, count]) => (id === keys[0]?.id ? sum : sum + count), 0);
  if (stale > 0)
    return warning("secrets", `${stale} are encrypted by an older key`, "run herald secrets rotate");
  return ok("secrets", "all open with the first key");
}

type RedisSettings = Pick<Config, "REDIS_URL" | "REDIS_TLS_VERIFY">;

export async function examineRedis(settings: RedisSettings): Promise<Finding> {
  const [first = ""] = settings.REDIS_URL.nodes;
  const silent = createLog({ LOG_LEVEL: "silent", LOG_FORMAT: "json", process: "herald" });
  const redis = connectProducer(settings, silent);
  let fault: unknown;
  redis.on("error", (error) => {
    fault = error;
  });
  try {
    await awaitConnection(redis, PATIENCE);
    await pingRedis(redis, PATIENCE);
    return ok("redis", `${placeOf(first)} answers`);
  } catch (error) {
    const mend = "start the server, or correct REDIS_URL (host, password, rediss:// and REDIS_TLS_VERIFY)";
    return failed("redis", `no answer from ${placeOf(first)}: ${reasonOf(fault ?? error)}`, mend);
  } finally {
    redis.disconnect();
  }
}
