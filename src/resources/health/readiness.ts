import type { RedisClient } from "../../queue/redis.ts";
import { isWriteRefusal, probeRedisWrites } from "../../queue/redis-writes.ts";
import { withTimeout } from "../../runtime/async/with-timeout.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { PostgresState, RedisState } from "../../schema/readiness.ts";
import type { Database } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import type { MigrationCheck } from "../../store/database/migration-check.ts";

const PROBE_TIMEOUT_MS = 2 * SECOND;

export interface ReadinessParts {
  db: Pick<Database, "ping">;
  migrations: Pick<MigrationCheck, "missing">;
  redis: RedisClient;
  partitions: number;
}

interface PostgresFinding {
  postgres: PostgresState;
  /** Why Postgres is unavailable. */
  cause?: unknown;
}

/** Asks both servers at the same time, each for two seconds at most. */
export async function examineServers(
  parts: ReadinessParts,
): Promise<PostgresFinding & { redis: RedisState }> {
  const [finding, redis] = await Promise.all([examinePostgres(parts), examineRedis(parts)]);
  return { ...finding, redis };
}

async function examinePostgres({ db, migrations }: ReadinessParts): Promise<PostgresFinding> {
  try {
    const [missing] = await Promise.all([
      withTimeout(PROBE_TIMEOUT_MS, migrations.missing(), throwTimeout),
      db.ping(PROBE_TIMEOUT_MS), // the check of the migrations may answer from its cache
    ]);
    return { postgres: missing.length > 0 ? "unmigrated" : "ok" };
  } catch (cause) {
    return { postgres: "unavailable", cause };
  }
}

function throwTimeout(): never {
  throw new DatabaseUnavailable(new Error(`no response within ${PROBE_TIMEOUT_MS} ms`));
}

async function examineRedis({ redis, partitions }: ReadinessParts): Promise<RedisState> {
  try {
    await probeRedisWrites(redis, { partitions, timeoutMs: PROBE_TIMEOUT_MS });
    return "ok";
  } catch (error) {
    return isWriteRefusal(error) ? "read_only" : "unavailable";
  }
}
