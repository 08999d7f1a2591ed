import { KNOWN_NETWORK_MS } from "../../src/domain/tenants/verify-password.ts";
import { runSteps } from "../../src/runtime/async/run-steps.ts";
import { DAY } from "../../src/runtime/durations.ts";
import { deleteOldReports, REPORT_RETENTION_MS } from "../../src/store/ads/insights-reports.ts";
import type { Database } from "../../src/store/database/database.ts";
import { dropPartitions } from "../../src/store/database/partitions.ts";
import { deleteOldFingerprints } from "../../src/store/events/insert-events.ts";
import { deleteExpiredOperations } from "../../src/store/tenants/claimed-operations.ts";
import { deleteExpiredIdempotencyKeys } from "../../src/store/tenants/idempotency-keys.ts";
import { deleteOldSessions } from "../../src/store/tenants/sessions.ts";
import {
  conservativeNow,
  createPartitionSteps,
  partitionSteps,
  type RetentionSettings,
} from "../table-partitions.ts";

/** The platforms repeat an unacknowledged webhook for seven days. */
const FINGERPRINT_RETENTION_MS = 8 * DAY;
const MAX_BATCH_ROWS = 10_000;

/** Creates the next partitions and deletes data whose retention has ended. */
export async function applyRetention(settings: RetentionSettings, db: Database, fixedNow?: number) {
  const now = fixedNow ?? (await conservativeNow(db));
  return runSteps({
    ...createPartitionSteps(settings, db, now),
    ...partitionSteps(settings, "dropped", (history, days) => dropPartitions(db, history, now - days * DAY)),
    fingerprints_deleted: () =>
      deleteInBatches((limit) => deleteOldFingerprints(db, FINGERPRINT_RETENTION_MS, limit)),
    insights_reports_deleted: () =>
      deleteInBatches((limit) => deleteOldReports(db, REPORT_RETENTION_MS, limit)),
    sessions_deleted: () => deleteInBatches((limit) => deleteOldSessions(db, KNOWN_NETWORK_MS, limit)),
    idempotency_keys_deleted: () => deleteInBatches((limit) => deleteExpiredIdempotencyKeys(db, limit)),
    claimed_operations_deleted: () => deleteInBatches((limit) => deleteExpiredOperations(db, limit)),
  });
}

/** Keeps each delete short, so that other statements do not wait long for its locks. */
async function deleteInBatches(deleteBatch: (limit: number) => Promise<number>): Promise<number> {
  let deleted = 0;
  for (;;) {
    const count = await deleteBatch(MAX_BATCH_ROWS);
    deleted += count;
    if (count < MAX_BATCH_ROWS) return deleted;
  }
}
