export interface JobTick {
  /** The time it was due, also when it is done again after somebody died over it. */
  scheduledAt: Date;
  /** Comes when the process has to end. A run that stops early for it throws; another scheduler does it again from the start. */
  signal: AbortSignal;
}

/** A run that could not do what it is for, by no fault of ours: told with what it has done, and without a stack. */
export class JobError extends Error {
  override name = "JobError";
  readonly counts: Record<string, number>;

  constructor(message: string, counts: Record<string, number>, options?: ErrorOptions) {
    super(message, options);
    this.counts = counts;
  }
}

/** One line of the cron table. What `run` answers goes into its log line; it must be safe to run again, finished or not. */
export interface Job {
  name: string;
  expression: string;
  run(tick: JobTick): Promise<Record<string, number>>;
}
