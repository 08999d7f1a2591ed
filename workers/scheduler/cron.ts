import { type ScheduledTask, schedule } from "node-cron";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Fields, Log } from "../../src/runtime/log.ts";
import type { Metrics } from "../../src/runtime/metrics.ts";
import type { Worker } from "../../src/runtime/supervise.ts";
import { claimTick, finishTick, type Tick } from "../../src/store/cron-runs.ts";
import type { Database } from "../../src/store/database.ts";
import type { Job } from "./jobs.ts";

interface CronParts {
  id: string;
  jobs: readonly Job[];
  db: Database;
  log: Log;
  metrics: Metrics;
}

/** A tick that comes later than this, because the process was busy or asleep, is left to another scheduler or the next. */
const LATEST = 30 * SECOND;

type Outcome = "ok" | "failed" | "not_claimed" | "missed";

/** Runs the jobs at their times (UTC), each tick on the one scheduler that claims it first. */
export function cron({ id, jobs, db, log, metrics }: CronParts): Worker {
  const tasks: ScheduledTask[] = [];
  const running = new Set<Promise<void>>();

  const report = (job: Job, scheduledAt: Date, outcome: Outcome, fields: Fields = {}) => {
    metrics.cronRuns.inc({ job: job.name, outcome });
    const level = outcome === "ok" ? "info" : "error";
    log[level]("cron.ran", { job: job.name, scheduled_at: scheduledAt, outcome, ...fields });
  };

  async function onTick(job: Job, scheduledAt: Date): Promise<void> {
    const tick: Tick = { job: job.name, scheduledAt, worker: id };
    try {
      if (!(await claimTick(db, tick))) return;
    } catch (error) {
      return report(job, scheduledAt, "not_claimed", { err: error });
    }
    const began = performance.now();
    const ms = () => Math.round(performance.now() - began);
    try {
      const done = await job.run();
      await finishTick(db, tick);
      report(job, scheduledAt, "ok", { ...done, ms: ms() });
    } catch (error) {
      // Without this the row says that it was started and never finished, which is as true.
      await finishTick(db, tick, error instanceof Error ? error.name : "unknown").catch(() => {});
      report(job, scheduledAt, "failed", { err: error, ms: ms() });
    }
  }

  const track = (work: Promise<void>) => {
    running.add(work);
    return work.finally(() => running.delete(work));
  };

  return {
    name: "cron",
    start() {
      for (const job of jobs) {
        const options = {
          timezone: "UTC",
          name: job.name,
          noOverlap: true,
          missedExecutionTolerance: LATEST,
          suppressMissedWarning: true, // said in our own words below
        };
        const task = schedule(job.expression, ({ date }) => track(onTick(job, date)), options);
        task.on("execution:missed", ({ date }) => report(job, date, "missed"));
        tasks.push(task);
      }
    },
    async close() {
      for (const task of tasks) await task.destroy();
      await Promise.all(running);
    },
  };
}
