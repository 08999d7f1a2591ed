import { withTimeout } from "../../runtime/async/with-timeout.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { Worker } from "../../runtime/supervise.ts";
import type { Queryable } from "./database.ts";
import { inspectMigrations } from "./migrations.ts";

const CHECK_INTERVAL_MS = 1 * SECOND;
const START_TIMEOUT_MS = 2 * SECOND;

export interface MigrationCheck extends Worker {
  /** Files of sql/ that the database lacks. Throws while Postgres is unavailable. */
  missing(): Promise<readonly string[]>;
}

/**
 * Incomplete: migrations are missing or were never read; `missing` reads them, once a second at most.
 * Complete: `missing` has found all migrations applied; the database is not asked again.
 */
export function createMigrationCheck(db: Queryable, log: Log): MigrationCheck {
  let isComplete = false;
  let isReading = false;
  let readAgainAt = 0;
  let lastRead: Promise<readonly string[]> | undefined;
  const report = createReport(log);

  async function read(): Promise<readonly string[]> {
    isReading = true;
    try {
      const { pending } = await inspectMigrations(db);
      isComplete = pending.length === 0;
      report(pending);
      return pending;
    } finally {
      isReading = false;
      readAgainAt = performance.now() + CHECK_INTERVAL_MS;
    }
  }

  function missing(): Promise<readonly string[]> {
    const isFresh = isComplete || isReading || performance.now() < readAgainAt;
    if (lastRead === undefined || !isFresh) lastRead = read();
    return lastRead;
  }

  return {
    name: "migration-check",
    missing,
    /** Logs missing migrations at the start, also when readiness is never requested. */
    async start() {
      const ended = missing().then(
        () => {},
        () => {}, // Postgres is unavailable: a later call reads again
      );
      await withTimeout(START_TIMEOUT_MS, ended, () => {});
    },
  };
}

/** Logs the missing files once, and again when they change. */
function createReport(log: Log): (pending: readonly string[]) => void {
  let reported = "";
  return (pending) => {
    const files = pending.join(",");
    if (files === reported) return;
    reported = files;
    if (pending.length > 0) log.warn("migrations.missing", { count: pending.length, files });
    else log.info("migrations.completed");
  };
}
