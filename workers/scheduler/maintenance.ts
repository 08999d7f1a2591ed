import { requestChange } from "../../src/domain/batches/change-batch.ts";
import { eraseDeletedClients } from "../../src/domain/tenants/delete-client.ts";
import { KNOWN_NETWORK_MS } from "../../src/domain/tenants/verify-password.ts";
import { runInBatches, runSteps, type Step } from "../../src/runtime/async/iteration.ts";
import type { Config } from "../../src/runtime/config/config.ts";
import { DAY, SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/log.ts";
import { AD_VIDEO_RETENTION_MS, deleteOldAdVideos } from "../../src/store/ads/ad-videos.ts";
import { deleteOldReports, REPORT_RETENTION_MS } from "../../src/store/ads/insights-reports.ts";
import { deleteExpiredStates } from "../../src/store/ads/oauth-states.ts";
import { deleteEmptyBatches, listAbandonedBatches } from "../../src/store/batches/retention.ts";
import type { Database } from "../../src/store/database/database.ts";
import {
  deleteExpiredRows,
  dropPartitions,
  type ExpiredRows,
} from "../../src/store/database/expired-partitions.ts";
import type { PartitionGroup } from "../../src/store/database/partitions.ts";
import { deleteOldEmbedSessions, eraseEndedGrants, markExpired } from "../../src/store/embed/sessions.ts";
import { deleteOldFingerprints } from "../../src/store/events/insert-events.ts";
import { deleteOldRuns } from "../../src/store/processes/cron-runs.ts";
import { deleteDeadWorkers } from "../../src/store/processes/workers.ts";
import { STATS_SUBJECTS } from "../../src/store/stats/hours.ts";
import { deleteOldStats } from "../../src/store/stats/read-stats.ts";
import {
  deleteExpiredIdempotencyKeys,
  deleteExpiredOperations,
} from "../../src/store/tenants/idempotency-keys.ts";
import { deleteOldSessions } from "../../src/store/tenants/sessions.ts";
import {
  conservativeNow,
  createPartitionSteps,
  partitionSteps,
  type RetentionSettings,
} from "../table-partitions.ts";
import type { JobTick } from "./cron.ts";

const TICK_RETENTION_MS = 30 * DAY;
const DEAD_WORKER_RETENTION_MS = 1 * DAY;

interface MaintenanceParts {
  db: Database;
  log: Log;
}

/** Deletes expired rows and those of deleted clients, creates the next partitions and drops old ones. */
export const maintain = async (
  config: Config,
  { db, log }: MaintenanceParts,
  { signal }: Pick<JobTick, "signal">,
): Promise<Record<string, number>> => ({
  cron_runs_deleted: await deleteOldRuns(db, TICK_RETENTION_MS),
  workers_deleted: await deleteDeadWorkers(db, DEAD_WORKER_RETENTION_MS),
  oauth_states_deleted: await deleteExpiredStates(db),
  ...(await applyRetention(config, { db, log, signal })),
});

/** The platforms repeat an unacknowledged webhook for seven days. */
const FINGERPRINT_RETENTION_MS = 8 * DAY;
/** The API shows statistics of 92 days. */
const STATS_RETENTION_MS = 95 * DAY;
/** How long a run waits for transactions that are older than the deletion of a client; the next run continues. */
const ERASURE_WAIT_MS = 10 * SECOND;

interface RetentionParts extends MaintenanceParts {
  signal?: AbortSignal;
}

/** Creates the next partitions, and deletes data whose retention has ended and that of deleted clients. */
export async function applyRetention(
  settings: RetentionSettings,
  { db, log, signal }: RetentionParts,
  fixedNow?: number,
): Promise<Record<string, number>> {
  const now = fixedNow ?? (await conservativeNow(db));
  const expiryOf = (days: number) => ({ before: now - days * DAY, signal });
  return runSteps({
    ...createPartitionSteps(settings, db, now),
    batches_cancelled: cancelAbandonedBatches(db, now - batchRetentionDays(settings) * DAY),
    ...partitionSteps(settings, "partitions_dropped", (history, days) =>
      dropPartitions(db, history, expiryOf(days)),
    ),
    ...partitionSteps(settings, "rows", async (history, days) => {
      const expired = await deleteExpiredRows(db, history, expiryOf(days));
      logPostponed(log, history, expired);
      return { deleted: expired.deleted, kept: expired.kept };
    }),
    batches_deleted: inBatches((limit) =>
      deleteEmptyBatches(db, { before: now - settings.MESSAGE_RETENTION_DAYS * DAY, limit }),
    ),
    fingerprints_deleted: inBatches((limit) => deleteOldFingerprints(db, FINGERPRINT_RETENTION_MS, limit)),
    insights_reports_deleted: inBatches((limit) => deleteOldReports(db, REPORT_RETENTION_MS, limit)),
    ad_videos_deleted: inBatches((limit) => deleteOldAdVideos(db, AD_VIDEO_RETENTION_MS, limit)),
    sessions_deleted: inBatches((limit) => deleteOldSessions(db, KNOWN_NETWORK_MS, limit)),
    idempotency_keys_deleted: inBatches((limit) => deleteExpiredIdempotencyKeys(db, limit)),
    embed_sessions_expired: inBatches((limit) => markExpired(db, limit)),
    embed_grants_erased: inBatches((limit) => eraseEndedGrants(db, limit)),
    embed_sessions_deleted: inBatches((limit) =>
      deleteOldEmbedSessions(db, settings.MESSAGE_RETENTION_DAYS * DAY, limit),
    ),
    message_stats_deleted: deleteStats(db, "messages"),
    event_stats_deleted: deleteStats(db, "events"),
    claimed_operations_deleted: inBatches((limit) => deleteExpiredOperations(db, limit)),
    clients_erased: () => eraseDeletedClients(db, { maxWaitMs: ERASURE_WAIT_MS }),
  });
}

function logPostponed(log: Log, { tables: [table] }: PartitionGroup, { kept, ranges, oldest }: ExpiredRows) {
  if (kept === 0 && ranges === 0) return;
  const since = new Date(oldest).toISOString().slice(0, 10);
  log.warn("retention.postponed", { table, partitions: ranges, rows: kept, since });
}

/** Keeps each statement short, so that other statements do not wait long for its locks. */
const MAX_BATCH_ROWS = 10_000;

const inBatches =
  (runBatch: (limit: number) => Promise<number>): Step =>
  () =>
    runInBatches(MAX_BATCH_ROWS, runBatch);

/** Longer than a message can be scheduled ahead, and its retries. */
const MIN_BATCH_RETENTION_DAYS = 31;

const batchRetentionDays = ({ MESSAGE_RETENTION_DAYS }: RetentionSettings): number =>
  Math.max(MESSAGE_RETENTION_DAYS, MIN_BATCH_RETENTION_DAYS);

/** The poll of the dispatchers finds the events of the cancelled batches. */
const NO_WAKE_UPS = { notify: () => {} };

/** Cancels unfinished batches of this time: a partition of messages is kept while one of its messages is still to be sent. */
const cancelAbandonedBatches = (db: Database, before: number): Step =>
  inBatches(async (limit) => {
    const parts = { db, notifier: NO_WAKE_UPS, messageNotifier: NO_WAKE_UPS };
    let cancelled = 0;
    for (const { client_id: clientId, id: batchId } of await listAbandonedBatches(db, { before, limit })) {
      const { outcome } = await requestChange(parts, { clientId, batchId, request: "cancel" });
      if (outcome === "done") cancelled++;
    }
    return cancelled;
  });

const deleteStats = (db: Database, subject: keyof typeof STATS_SUBJECTS): Step =>
  inBatches((limit) => deleteOldStats(db, STATS_SUBJECTS[subject], { maxAgeMs: STATS_RETENTION_MS, limit }));
