import { type ScheduledTask, schedule } from "node-cron";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/log.ts";
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

/** Runs the jobs at their times (UTC), each tick on the one scheduler that claims it first. */
export function cron({ id, jobs, db, log, metrics }: CronParts): Worker {
  const tasks: ScheduledTask[] = [];
  const running = new Set<Promise<void>>();

  async function tick(job: Job, scheduledAt: Date): Promise<void> {
    const began = performance.now();
    const tick: Tick = { job: job.name, scheduledAt };
    let outcome = "ok";
    let fields: Record<string, unknown>;
    try {
      if (!(await claimTick(db, tick, id))) return;
      fields = await job.run();
      await finishTick(db, tick);
    } catch (error) {
      outcome = "failed";
      fields = { err: error };
      // The row then says that it was started and never finished, which is as true.
      await finishTick(db, tick, error instanceof Error ? error.name : "unknown").catch(() => {});
    }
    metrics.cronRuns.inc({ job: job.name, outcome });
    const ms = Math.round(performance.now() - began);
    log[outcome === "ok" ? "info" : "error"]("cron.ran", {
      job: job.name,
      scheduled_at: scheduledAt,
      outcome,
      ...fields,
      ms,
    });
  }

  const track = (work: Promise<void>) => {
    running.add(work);
    return work.finally(() => running.delete(work));
  };

  return {
    name: "cron",
    start() {
      for (const job of jobs) {
        const options = { timezone: "UTC", name: job.name, noOverlap: true, suppressMissedWarning: true };
        tasks.push(schedule(job.expression, ({ date }) => track(tick(job, wholeSecond(date))), options));
      }
    },
    async close() {
      for (const task of tasks) await task.destroy();
      await Promise.all(running);
    },
  };
}

/** The tick's own time, the same on every scheduler, however late each of them woke up. */
const wholeSecond = (date: Date) => new Date(Math.floor(date.getTime() / SECOND) * SECOND);
