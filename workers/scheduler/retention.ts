import { KNOWN_NETWORK_MS } from "../../src/domain/tenants/verify-password.ts";
import { runSteps } from "../../src/runtime/async/run-steps.ts";
import { DAY } from "../../src/runtime/durations.ts";
import { AD_VIDEO_RETENTION_MS, deleteOldAdVideos } from "../../src/store/ads/ad-videos.ts";
import { deleteOldReports, REPORT_RETENTION_MS } from "../../src/store/ads/insights-reports.ts";
import type { Database } from "../../src/store/database/database.ts";
import { dropPartitions } from "../../src/store/database/partitions.ts";
import { deleteOldEmbedSessions, eraseEndedGrants, markExpired } from "../../src/store/embed/sessions.ts";
import { deleteOldFingerprints } from "../../src/store/events/event-fingerprints.ts";
import { deleteOldStats } from "../../src/store/stats/progress.ts";
import { STATS_SUBJECTS } from "../../src/store/stats/subjects.ts";
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
/** The API shows statistics of 92 days. */
const STATS_RETENTION_MS = 95 * DAY;
const MAX_BATCH_ROWS = 10_000;

/** Creates the next partitions and deletes data whose retention has ended. */
export async function applyRetention(settings: RetentionSettings, db: Database, fixedNow?: number) {
  const now = fixedNow ?? (await conservativeNow(db));
  return runSteps({
    ...createPartitionSteps(settings, db, now),
    ...partitionSteps(settings, "dropped", (history, days) => dropPartitions(db, history, now - days * DAY)),
    fingerprints_deleted: () =>
      runInBatches((limit) => deleteOldFingerprints(db, FINGERPRINT_RETENTION_MS, limit)),
    insights_reports_deleted: () => runInBatches((limit) => deleteOldReports(db, REPORT_RETENTION_MS, limit)),
    ad_videos_deleted: () => runInBatches((limit) => deleteOldAdVideos(db, AD_VIDEO_RETENTION_MS, limit)),
    sessions_deleted: () => runInBatches((limit) => deleteOldSessions(db, KNOWN_NETWORK_MS, limit)),
    idempotency_keys_deleted: () => runInBatches((limit) => deleteExpiredIdempotencyKeys(db, limit)),
    embed_sessions_expired: () => runInBatches((limit) => markExpired(db, limit)),
    embed_grants_erased: () => runInBatches((limit) => eraseEndedGrants(db, limit)),
    embed_sessions_deleted: () =>
      runInBatches((limit) => deleteOldEmbedSessions(db, settings.MESSAGE_RETENTION_DAYS * DAY, limit)),
    message_stats_deleted: () => deleteStats(db, "messages"),
    event_stats_deleted: () => deleteStats(db, "events"),
    claimed_operations_deleted: () => runInBatches((limit) => deleteExpiredOperations(db, limit)),
  });
}

const deleteStats = (db: Database, subject: keyof typeof STATS_SUBJECTS) =>
  runInBatches((limit) =>
    deleteOldStats(db, STATS_SUBJECTS[subject], { maxAgeMs: STATS_RETENTION_MS, limit }),
  );

/** Keeps each statement short, so that other statements do not wait long for its locks. */
async function runInBatches(runBatch: (limit: number) => Promise<number>): Promise<number> {
  let total = 0;
  for (;;) {
    const count = await runBatch(MAX_BATCH_ROWS);
    total += count;
    if (count < MAX_BATCH_ROWS) return total;
  }
}
