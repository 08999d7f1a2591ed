import type { RedisClient } from "../../queue/redis.ts";
import { readRedisState } from "../../queue/redis-writes.ts";
import { withTimeout } from "../../runtime/async/with-timeout.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { PostgresState, RedisState } from "../../schema/readiness.ts";
import type { Database } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import type { MigrationCheck } from "../../store/database/migration-check.ts";

/** An answer is due within a second, whatever the servers do. */
const PROBE_TIMEOUT_MS = 0.8 * SECOND;
/** At least as long as a probe takes: probes do not overlap. */
const PROBE_INTERVAL_MS = 1 * SECOND;

export interface ReadinessParts {
  /** A connection of its own: the ones of the pool may all be in use. */
  probe: Pick<Database, "ping">;
  migrations: Pick<MigrationCheck, "missing">;
  redis: RedisClient;
  tags: readonly number[];
}

interface PostgresFinding {
  postgres: PostgresState;
  /** Why Postgres is unavailable. */
  cause?: unknown;
}

type ServersFinding = PostgresFinding & { redis: RedisState };

/** Asks the servers once a second at most; the requests in between get the same answer. */
export function createReadinessProbe(parts: ReadinessParts): () => Promise<ServersFinding> {
  let finding: Promise<ServersFinding> | undefined;
  let askAgainAt = 0;
  return () => {
    if (finding === undefined || performance.now() >= askAgainAt) {
      askAgainAt = performance.now() + PROBE_INTERVAL_MS;
      finding = examineServers(parts);
    }
    return finding;
  };
}

/** Asks both servers at the same time. */
async function examineServers(parts: ReadinessParts): Promise<ServersFinding> {
  const { redis, tags } = parts;
  const [finding, { state }] = await Promise.all([
    examinePostgres(parts),
    readRedisState(redis, { tags, timeoutMs: PROBE_TIMEOUT_MS }),
  ]);
  return { ...finding, redis: state };
}

async function examinePostgres({ probe, migrations }: ReadinessParts): Promise<PostgresFinding> {
  try {
    const [missing] = await Promise.all([
      withTimeout(PROBE_TIMEOUT_MS, migrations.missing(), throwTimeout),
      probe.ping(PROBE_TIMEOUT_MS), // the check of the migrations may answer from its cache
    ]);
    return { postgres: missing.length > 0 ? "unmigrated" : "ok" };
  } catch (cause) {
    return { postgres: "unavailable", cause };
  }
}

function throwTimeout(): never {
  throw new DatabaseUnavailable(new Error(`no response within ${PROBE_TIMEOUT_MS} ms`));
}
