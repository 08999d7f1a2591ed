import type { Fields, Log } from "../../src/runtime/logging/log.ts";
import type { Metrics } from "../../src/runtime/metrics/metrics.ts";

/**
 * What became of a tick, and how loud that is said. Busy: this scheduler could not take it, for it is still at a run that another
 * took over. Lost: another scheduler had taken it over before it ended here. Stopped:
 * this one had to end, another takes it over.
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
