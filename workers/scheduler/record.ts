import type { Fields, Log } from "../../src/runtime/logging/log.ts";
import type { Metrics } from "../../src/runtime/metrics/metrics.ts";

/**
 * Outcomes of a tick and their log levels. busy: this scheduler still executes a run of the job that another took over.
 * lost: another scheduler took the run over before it ended here. stopped: a shutdown ended the run; another repeats it.
 */
const LOG_LEVELS = {
  ok: "info",
  overlapped: "warn",
  busy: "warn",
  lost: "warn",
  stopped: "warn",
  failed: "error",
  not_claimed: "error",
  missed: "error",
} as const;

export type TickOutcome = keyof typeof LOG_LEVELS;

export type RecordTick = (
  tick: { job: string; scheduledAt: Date },
  outcome: TickOutcome,
  fields?: Fields,
) => void;

export const createTickRecorder =
  (log: Log, metrics: Metrics): RecordTick =>
  ({ job, scheduledAt }, outcome, fields = {}) => {
    metrics.cronRuns.inc({ job, outcome });
    log[LOG_LEVELS[outcome]]("cron.ran", { job, scheduled_at: scheduledAt, outcome, ...fields });
  };
