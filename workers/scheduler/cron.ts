import { setMaxListeners } from "node:events";
import { type ScheduledTask, schedule } from "node-cron";
import { withTimeout } from "../../src/runtime/async/timeouts-and-retries.ts";
import { ABORT_JOBS_AFTER_MS, SCHEDULER_CLOSE_TIMEOUT_MS } from "../../src/runtime/deadlines.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Fields, Log } from "../../src/runtime/log.ts";
import type { Metrics } from "../../src/runtime/metrics.ts";
import type { Worker } from "../../src/runtime/supervise.ts";
import type { WorkTracker } from "../../src/runtime/watchdog.ts";
import type { Database } from "../../src/store/database/database.ts";
import { DatabaseUnavailable } from "../../src/store/database/faults.ts";
import { claimTick, finishRun, readCronMetrics, type Tick } from "../../src/store/processes/cron-runs.ts";
import { countQuarantinedRows } from "../../src/store/processes/row-checks.ts";

/**
 * Outcomes of a tick, with their log levels:
 * ok, failed: the run ended. A run whose scheduler died is failed too, closed by the job's next claim.
 * overlapped: a run of the job was unfinished, in this process or in another one that is alive.
 * stopped: a shutdown ended the run; the job runs again at its next tick.
 * not_claimed: Postgres did not answer. missed: the process was suspended when the tick was due.
 */
const LOG_LEVELS = {
  ok: "info",
  overlapped: "warn",
  stopped: "warn",
  failed: "error",
  not_claimed: "error",
  missed: "error",
} as const;

export interface TickEnd {
  outcome: keyof typeof LOG_LEVELS;
  fields: Fields;
  /** Stored with a run that did not succeed. */
  error?: string;
}

export interface JobTick {
  /** The time at which the tick was due. */
  scheduledAt: Date;
  /** Aborted on shutdown. A run that stops early throws. */
  signal: AbortSignal;
}

/** An entry of the cron table. `run` returns counts for the log line; it must be safe to repeat, finished or not. */
export interface Job {
  name: string;
  expression: string;
  run(tick: JobTick): Promise<Record<string, number>>;
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

interface CronParts {
  /** This scheduler's worker id. */
  id: string;
  jobs: readonly Job[];
  db: Database;
  log: Log;
  metrics: Metrics;
  tracker: WorkTracker;
  /** Milliseconds from the start of the shutdown until running jobs are asked to stop, and until they are abandoned. */
  times?: { abortAfter: number; exitAfter: number };
}

const DEFAULT_TIMES_MS = { abortAfter: ABORT_JOBS_AFTER_MS, exitAfter: SCHEDULER_CLOSE_TIMEOUT_MS };

/** A tick delayed by more than this, because the process was busy or suspended, is recorded as missed and not run here. */
const MAX_TICK_DELAY_MS = 30 * SECOND;

interface ActiveTick extends Tick {
  began: number;
  ended: Promise<void>;
}

/** Runs each tick (UTC) on the scheduler that claims it first. */
export function cron({ id, jobs, db, log, metrics, tracker, times = DEFAULT_TIMES_MS }: CronParts): Worker {
  const tasks: ScheduledTask[] = [];
  /** By job, from the claim to the end of the tick. */
  const activeTicks = new Map<string, ActiveTick>();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // each step of a job may add a listener, which is no leak

  function record({ job, scheduledAt }: Omit<Tick, "worker">, { outcome, fields }: TickEnd): void {
    metrics.cronRuns.inc({ job, outcome });
    log[LOG_LEVELS[outcome]]("cron.ran", { job, scheduled_at: scheduledAt, outcome, ...fields });
  }

  async function onTick(job: Job, scheduledAt: Date): Promise<void> {
    const tick = { job: job.name, scheduledAt, worker: id };
    const unfinished = activeTicks.get(job.name);
    if (unfinished) return record(tick, toOverlap(unfinished));
    const active = { ...tick, began: performance.now(), ended: Promise.resolve() };
    activeTicks.set(job.name, active);
    active.ended = claimAndRun(claiming, job, tick).then((end) => {
      if (activeTicks.get(job.name) !== active) return; // abandoned
      activeTicks.delete(job.name);
      if (end) record(tick, end);
    });
    await active.ended;
  }

  const onAbandoned = (unfinished: Tick) => record(unfinished, toAbandoned(unfinished));
  const claiming = { db, tracker, signal: stopping.signal, onAbandoned };

  function scheduleJob(job: Job): ScheduledTask {
    const options = {
      timezone: "UTC",
      name: job.name,
      missedExecutionTolerance: MAX_TICK_DELAY_MS,
      suppressMissedWarning: true, // recorded below instead
    };
    const task = schedule(job.expression, ({ date }) => onTick(job, date), options);
    task.on("execution:missed", ({ date }) =>
      record({ job: job.name, scheduledAt: date }, { outcome: "missed", fields: {} }),
    );
    return task;
  }

  /** Records the runs that are still active as stopped, without waiting for them. */
  function abandon(): void {
    for (const tick of activeTicks.values())
      record(tick, { outcome: "stopped", fields: { ms: elapsedMs(tick.began) } });
    activeTicks.clear();
  }

  return {
    name: "cron",
    async start() {
      tasks.push(...jobs.map(scheduleJob));
    },
    async close() {
      for (const task of tasks) await task.destroy();
      const timer = setTimeout(() => stopping.abort(), times.abortAfter);
      const drained = Promise.all([...activeTicks.values()].map(({ ended }) => ended));
      await withTimeout(times.exitAfter, drained, abandon);
      clearTimeout(timer);
    },
  };
}

interface ClaimingParts {
  db: Database;
  tracker: WorkTracker;
  /** Asks the job to stop. */
  signal: AbortSignal;
  /** Called with the unfinished run of a worker that died, which the claim has closed. */
  onAbandoned(unfinished: Tick): void;
}

/** Runs the tick's job for a worker with a heartbeat. Returns nothing when another worker has claimed the tick. */
export async function claimAndRun(
  { db, tracker, signal, onAbandoned }: ClaimingParts,
  job: Job,
  tick: Tick,
): Promise<TickEnd | undefined> {
  try {
    const claim = await claimTick(db, tick);
    if (!claim) return undefined;
    const { isOverlapped, unfinished } = claim;
    if (isOverlapped) return toOverlap(unfinished);
    if (unfinished) onAbandoned(unfinished);
  } catch (error) {
    const fields = error instanceof DatabaseUnavailable ? { error: error.message } : { err: error };
    return { outcome: "not_claimed", fields };
  }
  const began = performance.now();
  const tracked = tracker.begin(`job ${job.name}`);
  const end = await runJob(job, { scheduledAt: tick.scheduledAt, signal });
  tracked.end();
  return saveEnd(db, tick, { end, ms: elapsedMs(began) });
}

const elapsedMs = (began: number): number => Math.round(performance.now() - began);

const toOverlap = (unfinished?: Tick): TickEnd => ({
  outcome: "overlapped",
  fields: { unfinished_scheduled_at: unfinished?.scheduledAt, unfinished_worker: unfinished?.worker },
});

const toAbandoned = ({ worker }: Tick): TickEnd => ({
  outcome: "failed",
  fields: { error: "abandoned", worker },
});

async function runJob(job: Job, tick: JobTick): Promise<TickEnd> {
  try {
    return { outcome: "ok", fields: await job.run(tick) };
  } catch (error) {
    if (tick.signal.aborted) return { outcome: "stopped", fields: { err: error }, error: "stopped" };
    const fields = error instanceof JobError ? { error: error.message, ...error.counts } : { err: error };
    return { outcome: "failed", fields, error: error instanceof Error ? error.name : "unknown" };
  }
}

/** When the outcome cannot be written, the run stays unfinished, and the next claim of the job closes it. */
async function saveEnd(
  db: Database,
  tick: Tick,
  { end: { outcome, fields, error }, ms }: { end: TickEnd; ms: number },
): Promise<TickEnd> {
  try {
    await finishRun(db, tick, error);
    return { outcome, fields: { ...fields, ms } };
  } catch (err) {
    return { outcome: outcome === "ok" ? "failed" : outcome, fields: { err, ...fields, ms } };
  }
}

/** Sets the gauges. Each scheduler reports the runs of all schedulers. */
export async function setCronGauges({ db, jobs, metrics }: Pick<CronParts, "db" | "jobs" | "metrics">) {
  const { cronRunning, cronLastSuccess, cronQuarantinedRows } = metrics;
  // Reset before the query: when it fails, values from before the outage must not look current.
  for (const gauge of [cronRunning, cronLastSuccess, cronQuarantinedRows]) gauge.reset();
  const names = jobs.map(({ name }) => name);
  for (const { job, runningFor, lastSuccess } of await readCronMetrics(db, names)) {
    cronRunning.set({ job }, runningFor);
    if (lastSuccess !== null) cronLastSuccess.set({ job }, lastSuccess);
  }
  for (const [job, rows] of Object.entries(await countQuarantinedRows(db)))
    cronQuarantinedRows.set({ job }, rows);
}
