import { setMaxListeners } from "node:events";
import type { Fields, Log } from "../../src/runtime/logging/log.ts";
import type { Database } from "../../src/store/database/database.ts";
import {
  type Claim,
  claimTick,
  finishTick,
  type HeldRun,
  type Tick,
  takeOverRuns,
} from "../../src/store/processes/cron-runs.ts";
import { type Job, JobTrouble } from "./job.ts";
import type { Outcome, Report } from "./record.ts";

export interface RunsParts {
  /** This scheduler's, and its heart's. */
  id: string;
  jobs: readonly Job[];
  db: Database;
  log: Log;
  report: Report;
  /** For how many milliseconds its own heart has beaten without a gap. */
  steadyFor(): number;
  /** Milliseconds of silence after which another scheduler is dead. */
  deadAfter: number;
}

interface Run {
  job: string;
  scheduledAt: Date;
  began: number;
  /** What else is said of it. */
  about: Fields;
}

interface Ending {
  outcome: Outcome;
  fields: Fields;
  /** What is written down of a failure. */
  error?: string;
}

/** The runs that this scheduler has in hand, and how it comes by them. */
export function createRuns(parts: RunsParts) {
  const { id, jobs, db, log, report } = parts;
  const running = new Set<Run>();
  const work = new Set<Promise<void>>();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // each step of a job may listen, which Node would take for a leak

  /** After an outage everybody seems dead: who was silent themselves cannot tell, and waits until the others have spoken. */
  const claimant = () => ({
    worker: id,
    deadAfter: parts.steadyFor() < parts.deadAfter ? null : parts.deadAfter,
  });
  const inHand = (job: string) => [...running].find((run) => run.job === job);

  async function onTick(job: Job, scheduledAt: Date): Promise<void> {
    const tick = { job: job.name, scheduledAt };
    let claim: Claim | undefined;
    try {
      claim = await claimTick(db, tick, { ...claimant(), inHand: inHand(job.name)?.scheduledAt });
    } catch (error) {
      return report(tick, "not_claimed", { err: error });
    }
    if (!claim) return;
    const { outcome, met } = claim;
    if (outcome !== "claimed") return report(tick, outcome, whichRun(met));
    if (met) report({ ...met, job: job.name }, "failed", { error: "abandoned", worker: met.worker });
    await run(job, scheduledAt);
  }

  /** Looks for runs that somebody died over. */
  async function lookAround(): Promise<void> {
    const free = jobs.filter(({ name }) => !inHand(name)).map(({ name }) => name);
    for (const { isOld, worker, ...tick } of await takeOverRuns(db, free, claimant())) {
      const job = jobs.find(({ name }) => name === tick.job) as Job;
      if (isOld) report(tick, "failed", { error: "abandoned", worker });
      else void track(takeOver(job, tick, worker));
    }
  }

  async function takeOver(job: Job, { scheduledAt }: Tick, worker: string): Promise<void> {
    log.warn("cron.taken_over", { job: job.name, scheduled_at: scheduledAt, worker: id, taken_from: worker });
    await run(job, scheduledAt, { taken_from: worker });
  }

  async function run(job: Job, scheduledAt: Date, about: Fields = {}): Promise<void> {
    const hand: Run = { job: job.name, scheduledAt, began: performance.now(), about };
    running.add(hand);
    const ending = await writeDown(hand, await endOf(job, scheduledAt));
    if (running.delete(hand)) tell(hand, ending);
  }

  async function endOf(job: Job, scheduledAt: Date): Promise<Ending> {
    const { signal } = stopping;
    try {
      return { outcome: "ok", fields: await job.run({ scheduledAt, signal }) };
    } catch (error) {
      if (signal.aborted) return { outcome: "stopped", fields: { err: error } };
      return { outcome: "failed", fields: troubleOf(error), error: nameOf(error) };
    }
  }

  /** What was stopped stays unfinished, as does what can not be written down: it is taken over, and runs again. */
  async function writeDown(hand: Run, ending: Ending): Promise<Ending> {
    if (ending.outcome === "stopped") return ending;
    try {
      const isOurs = await finishTick(db, { ...hand, worker: id }, ending.error);
      return isOurs ? ending : { ...ending, outcome: "lost" };
    } catch (error) {
      return { outcome: "failed", fields: { err: error, ...ending.fields } };
    }
  }

  const tell = (hand: Run, { outcome, fields }: Ending) =>
    report(hand, outcome, { ...hand.about, ...fields, ms: Math.round(performance.now() - hand.began) });

  function track(task: Promise<void>): Promise<void> {
    work.add(task);
    return task.finally(() => work.delete(task));
  }

  return {
    onTick: (job: Job, scheduledAt: Date) => track(onTick(job, scheduledAt)),
    lookAround,
    /** When everything in hand has come to its end. */
    idle: async () => void (await Promise.all(work)),
    /** Asks the jobs to stop early. */
    abort: () => stopping.abort(),
    /** Gives up those that do not. */
    leave() {
      for (const hand of running) tell(hand, { outcome: "stopped", fields: {} });
      running.clear();
    },
  };
}

const whichRun = (met?: HeldRun): Fields => ({ met_scheduled_at: met?.scheduledAt, met_worker: met?.worker });

const troubleOf = (error: unknown): Fields =>
  error instanceof JobTrouble ? { error: error.message, ...error.counts } : { err: error };

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : "unknown");
