import { setMaxListeners } from "node:events";
import type { Fields, Log } from "../../src/runtime/logging/log.ts";
import type { WorkTracker } from "../../src/runtime/watchdog/work-tracker.ts";
import type { Database } from "../../src/store/database/database.ts";
import {
  type Claim,
  type Claimant,
  claimTick,
  finishRun,
  type Tick,
  takeOverRuns,
  type UnfinishedRun,
} from "../../src/store/processes/cron-runs.ts";
import { type Job, JobError, type JobTick } from "./job.ts";
import type { RecordTick, TickOutcome } from "./record.ts";

/**
 * A run is active here from its claim (`onTick`, or `checkPeers` when it takes over the run of a dead scheduler) to its end.
 * It ends as ok or failed when its outcome is written, and as lost when another scheduler took it over meanwhile.
 * On shutdown it ends as stopped: when `abort` makes the job throw, or when `abandon` stops waiting for it. A stopped run
 * stays unfinished in the database, so that another scheduler takes it over.
 */

export interface RunsParts {
  /** This scheduler's worker id. */
  id: string;
  jobs: readonly Job[];
  db: Database;
  log: Log;
  recordTick: RecordTick;
  tracker: WorkTracker;
  /** Milliseconds for which this scheduler's heartbeats have had no gap. */
  aliveForMs(): number;
  /** Milliseconds without a heartbeat after which another scheduler is dead. */
  deadAfter: number;
}

interface Run {
  job: string;
  scheduledAt: Date;
  began: number;
  /** Further fields of its log line. */
  extraFields: Fields;
}

/** A tick, and this scheduler as it was when it claimed the tick. */
type ClaimedTick = Omit<JobTick, "signal">;

interface RunOutcome {
  outcome: TickOutcome;
  fields: Fields;
  /** Stored with a failed run. */
  error?: string;
}

export function createRuns(parts: RunsParts) {
  const { id, jobs, db, log, recordTick, tracker } = parts;
  const activeRuns = new Set<Run>();
  const tasks = new Set<Promise<void>>();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // each step of a job may add a listener, which is no leak

  /** After a database outage every scheduler looks dead: one with a gap itself first waits for the others' heartbeats. */
  const claimant = (): Claimant => ({
    worker: id,
    deadAfter: parts.aliveForMs() < parts.deadAfter ? null : parts.deadAfter,
  });
  const activeRunOf = (job: string) => [...activeRuns].find((run) => run.job === job);

  /** The last claim of each job. */
  const claims = new Map<string, Promise<unknown>>();

  /** One claim of a job at a time: the next one must know the run that this one starts. */
  function claimInTurn(tick: Tick, self: Claimant): Promise<Claim | undefined> {
    const previous = claims.get(tick.job)?.catch(() => {});
    const claim = Promise.resolve(previous).then(() =>
      claimTick(db, tick, { ...self, inFlight: activeRunOf(tick.job)?.scheduledAt }),
    );
    claims.set(tick.job, claim);
    return claim;
  }

  async function onTick(job: Job, scheduledAt: Date): Promise<void> {
    const [tick, self] = [{ job: job.name, scheduledAt }, claimant()];
    let claim: Claim | undefined;
    try {
      claim = await claimInTurn(tick, self);
    } catch (error) {
      return recordTick(tick, "not_claimed", { err: error });
    }
    if (!claim) return;
    const { outcome, unfinishedRun } = claim;
    if (outcome !== "claimed") return recordTick(tick, outcome, toUnfinishedRunFields(unfinishedRun));
    if (unfinishedRun)
      recordTick({ ...unfinishedRun, job: job.name }, "failed", {
        error: "abandoned",
        worker: unfinishedRun.worker,
      });
    await run(job, { scheduledAt, claimant: self });
  }

  /** Takes over the runs of dead schedulers. */
  async function checkPeers(): Promise<void> {
    const idleJobs = jobs.filter(({ name }) => !activeRunOf(name)).map(({ name }) => name);
    const self = claimant();
    for (const { isOld, worker, job: name, scheduledAt } of await takeOverRuns(db, idleJobs, self)) {
      const job = jobs.find((job) => job.name === name) as Job;
      if (isOld) recordTick({ job: name, scheduledAt }, "failed", { error: "abandoned", worker });
      else void track(takeOver(job, { scheduledAt, claimant: self }, worker));
    }
  }

  async function takeOver(job: Job, tick: ClaimedTick, worker: string): Promise<void> {
    const { scheduledAt } = tick;
    log.warn("cron.taken_over", { job: job.name, scheduled_at: scheduledAt, worker: id, taken_from: worker });
    await run(job, tick, { taken_from: worker });
  }

  async function run(job: Job, tick: ClaimedTick, extraFields: Fields = {}): Promise<void> {
    const { scheduledAt } = tick;
    const activeRun: Run = { job: job.name, scheduledAt, began: performance.now(), extraFields };
    activeRuns.add(activeRun);
    const unit = tracker.begin(`job ${job.name}`);
    const outcome = await runJob(job, { ...tick, signal: stopping.signal });
    unit.end();
    const result = await saveOutcome(parts, activeRun, outcome);
    if (activeRuns.delete(activeRun)) recordRun(recordTick, activeRun, result);
  }

  function track(task: Promise<void>): Promise<void> {
    tasks.add(task);
    return task.finally(() => tasks.delete(task));
  }

  return {
    onTick: (job: Job, scheduledAt: Date) => track(onTick(job, scheduledAt)),
    checkPeers,
    /** Resolves when all claims and runs in progress have ended. */
    drain: async () => void (await Promise.all(tasks)),
    /** Asks the jobs to stop early. */
    abort: () => stopping.abort(),
    /** Records the runs that are still active as stopped, without waiting for them. */
    abandon() {
      for (const activeRun of activeRuns)
        recordRun(recordTick, activeRun, { outcome: "stopped", fields: {} });
      activeRuns.clear();
    },
  };
}

const recordRun = (recordTick: RecordTick, activeRun: Run, { outcome, fields }: RunOutcome): void =>
  recordTick(activeRun, outcome, {
    ...activeRun.extraFields,
    ...fields,
    ms: Math.round(performance.now() - activeRun.began),
  });

async function runJob(job: Job, tick: JobTick): Promise<RunOutcome> {
  try {
    return { outcome: "ok", fields: await job.run(tick) };
  } catch (error) {
    if (tick.signal.aborted) return { outcome: "stopped", fields: { err: error } };
    return { outcome: "failed", fields: toErrorFields(error), error: errorNameOf(error) };
  }
}

/** A stopped run, or one whose outcome cannot be written, stays unfinished: another scheduler repeats it. */
async function saveOutcome({ db, id }: RunsParts, activeRun: Run, result: RunOutcome): Promise<RunOutcome> {
  if (result.outcome === "stopped") return result;
  try {
    const isOurs = await finishRun(db, { ...activeRun, worker: id }, result.error);
    return isOurs ? result : { ...result, outcome: "lost" };
  } catch (error) {
    return { outcome: "failed", fields: { err: error, ...result.fields } };
  }
}

const toUnfinishedRunFields = (run?: UnfinishedRun): Fields => ({
  unfinished_scheduled_at: run?.scheduledAt,
  unfinished_worker: run?.worker,
});

const toErrorFields = (error: unknown): Fields =>
  error instanceof JobError ? { error: error.message, ...error.counts } : { err: error };

const errorNameOf = (error: unknown): string => (error instanceof Error ? error.name : "unknown");
