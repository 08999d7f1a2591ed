import { withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import { repeat, type Worker } from "../../runtime/supervise.ts";
import type { Database } from "./database.ts";
import { DatabaseUnavailable } from "./faults.ts";

const PING_INTERVAL_MS = 1 * SECOND;
const PING_TIMEOUT_MS = 2 * SECOND;
/** The statement timeout ends a ping earlier. */
const MAX_PING_MS = 1 * MINUTE;

interface PostgresStateParts {
  db: Database;
  log: Log;
  metrics: Pick<Metrics, "postgresUp">;
}

/**
 * A process's view of Postgres: up or not, by a ping once a second. Logs when an outage begins and ends. While the process
 * uses all its connections the view stays: a ping would wait for them.
 */
export function createPostgresState({ db, log, metrics }: PostgresStateParts): Worker {
  let ping: Promise<void> | undefined;

  async function check(): Promise<"skipped" | undefined> {
    const { used, max } = db.usage();
    if (!ping && used >= max) return "skipped";
    // One at a time: those that hang would use up the connections.
    ping ??= db.ping(MAX_PING_MS).finally(() => {
      ping = undefined;
    });
    try {
      await withTimeout(PING_TIMEOUT_MS, ping, throwLate);
      metrics.postgresUp.set(1);
    } catch (error) {
      metrics.postgresUp.set(0);
      throw error;
    }
    return undefined;
  }

  return repeat({ name: "postgres", intervalMs: PING_INTERVAL_MS, work: check, log });
}

function throwLate(): never {
  throw new DatabaseUnavailable(new Error(`no response within ${PING_TIMEOUT_MS} ms`));
}
