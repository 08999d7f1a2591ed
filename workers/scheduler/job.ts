import type { Claimant } from "../../src/store/processes/cron-runs.ts";

export interface JobTick {
  /** The time at which the tick was due, also when the run repeats that of a dead scheduler. */
  scheduledAt: Date;
  /** Aborted on shutdown. A run that stops early throws; another scheduler repeats it from the start. */
  signal: AbortSignal;
  /** The scheduler that runs the job, for the claims of its units of work. */
  claimant: Claimant;
}

/** A run failed for a reason outside this service: logged with its counts and without a stack. */
export class JobError extends Error {
  override name = "JobError";
  readonly counts: Record<string, number>;

  constructor(message: string, counts: Record<string, number>, options?: ErrorOptions) {
    super(message, options);
    this.counts = counts;
  }
}

/** An entry of the cron table. `run` returns counts for the log line; it must be safe to repeat, finished or not. */
export interface Job {
  name: string;
  expression: string;
  run(tick: JobTick): Promise<Record<string, number>>;
}
