import { setMaxListeners } from "node:events";
import type { Fields, Log } from "../../src/runtime/logging/log.ts";
import type { Database } from "../../src/store/database/database.ts";
import {
  type Claim,
  claimTick,
  finishRun,
  type Tick,
  takeOverRuns,
  type UnfinishedRun,
} from "../../src/store/processes/cron-runs.ts";
import { type Job, JobError, type JobTick } from "./job.ts";
import type { RecordTick, TickOutcome } from "./record.ts";

export interface RunsParts {
  /** This scheduler's, and its heart's. */
  id: string;
  jobs: readonly Job[];
  db: Database;
  log: Log;
  recordTick: RecordTick;
  /** For how many milliseconds its own heart has beaten without a gap. */
  aliveForMs(): number;
  /** Milliseconds of silence after which another scheduler is dead. */
  deadAfter: number;
}

interface Run {
  job: string;
  scheduledAt: Date;
  began: number;
  /** What else is said of it. */
  extraFields: Fields;
}

interface RunOutcome {
  outcome: TickOutcome;
  fields: Fields;
  /** What is written down of a failure. */
  error?: string;
}

/** The runs that this scheduler has in hand, and how it comes by them. */
export function createRuns(parts: RunsParts) {
  const { id, jobs, db, log, recordTick } = parts;
  const activeRuns = new Set<Run>();
  const tasks = new Set<Promise<void>>();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // each step of a job may listen, which Node would take for a leak

  /** After an outage everybody seems dead: who was silent themselves cannot tell, and waits until the others have spoken. */
  const claimant = () => ({
    worker: id,
    deadAfter: parts.aliveForMs() < parts.deadAfter ? null : parts.deadAfter,
  });
  const activeRunOf = (job: string) => [...activeRuns].find((run) => run.job === job);

  async function onTick(job: Job, scheduledAt: Date): Promise<void> {
    const tick = { job: job.name, scheduledAt };
    let claim: Claim | undefined;
    try {
      claim = await claimTick(db, tick, { ...claimant(), inFlight: activeRunOf(job.name)?.scheduledAt });
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
    await run(job, scheduledAt);
  }

  /** Looks for runs that somebody died over. */
  async function checkPeers(): Promise<void> {
    const idleJobs = jobs.filter(({ name }) => !activeRunOf(name)).map(({ name }) => name);
    for (const { isOld, worker, ...tick } of await takeOverRuns(db, idleJobs, claimant())) {
      const job = jobs.find(({ name }) => name === tick.job) as Job;
      if (isOld) recordTick(tick, "failed", { error: "abandoned", worker });
      else void track(takeOver(job, tick, worker));
    }
  }

  async function takeOver(job: Job, { scheduledAt }: Tick, worker: string): Promise<void> {
    log.warn("cron.taken_over", { job: job.name, scheduled_at: scheduledAt, worker: id, taken_from: worker });
    await run(job, scheduledAt, { taken_from: worker });
  }

  async function run(job: Job, scheduledAt: Date, extraFields: Fields = {}): Promise<void> {
    const activeRun: Run = { job: job.name, scheduledAt, began: performance.now(), extraFields };
    activeRuns.add(activeRun);
    const result = await saveOutcome(
      parts,
      activeRun,
      await runJob(job, { scheduledAt, signal: stopping.signal }),
    );
    if (activeRuns.delete(activeRun)) recordRun(recordTick, activeRun, result);
  }

  function track(task: Promise<void>): Promise<void> {
    tasks.add(task);
    return task.finally(() => tasks.delete(task));
  }

  return {
    onTick: (job: Job, scheduledAt: Date) => track(onTick(job, scheduledAt)),
    checkPeers,
    /** When everything in hand has come to its end. */
    drain: async () => void (await Promise.all(tasks)),
    /** Asks the jobs to stop early. */
    abort: () => stopping.abort(),
    /** Gives up those that do not. */
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

/** A stopped run stays unfinished, as does one whose outcome cannot be written: it is taken over and runs again. */
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
