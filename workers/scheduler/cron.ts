import { type ScheduledTask, schedule } from "node-cron";
import { repeat } from "../../src/runtime/async/repeat.ts";
import { within } from "../../src/runtime/async/with-timeout.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/logging/log.ts";
import type { Metrics } from "../../src/runtime/metrics/metrics.ts";
import type { Worker } from "../../src/runtime/supervise.ts";
import type { Database } from "../../src/store/database/database.ts";
import { DEAD_AFTER } from "../../src/store/processes/workers.ts";
import type { Job } from "./job.ts";
import { createReport } from "./record.ts";
import { createRuns } from "./runs.ts";

/** In milliseconds. */
interface Times {
  deadAfter: number;
  /** Between two looks for runs of the dead. */
  lookEvery: number;
  /** After so long at the end of the process the jobs are asked to stop early, then left alone. */
  abortAfter: number;
  leaveAfter: number;
}

/** A run that is stopped is older than the silence that makes its scheduler dead: once the heart has gone it is free at once. */
const USUAL: Times = {
  deadAfter: DEAD_AFTER,
  lookEvery: 2 * SECOND,
  abortAfter: DEAD_AFTER + 5 * SECOND,
  leaveAfter: DEAD_AFTER + 8 * SECOND,
};

interface CronParts {
  id: string;
  jobs: readonly Job[];
  db: Database;
  log: Log;
  metrics: Metrics;
  steadyFor(): number;
  times?: Partial<Times>;
}

/** A tick that comes later than this, because the process was busy or asleep, is left to another scheduler or the next. */
const LATEST = 30 * SECOND;

/** Runs the jobs at their times (UTC), each tick on the one scheduler that claims it first, and what others died over again. */
export function cron({ jobs, log, metrics, times, ...parts }: CronParts): Worker {
  const { deadAfter, lookEvery, abortAfter, leaveAfter } = { ...USUAL, ...times };
  const report = createReport(log, metrics);
  const runs = createRuns({ ...parts, jobs, log, report, deadAfter });
  const looking = repeat({ name: "cron.look", every: lookEvery, work: runs.lookAround, log });
  const tasks: ScheduledTask[] = [];

  function scheduleJob(job: Job): ScheduledTask {
    const options = {
      timezone: "UTC",
      name: job.name,
      missedExecutionTolerance: LATEST,
      suppressMissedWarning: true, // said in our own words below
    };
    const task = schedule(job.expression, ({ date }) => runs.onTick(job, date), options);
    task.on("execution:missed", ({ date }) => report({ job: job.name, scheduledAt: date }, "missed"));
    return task;
  }

  return {
    name: "cron",
    async start(lifecycle) {
      tasks.push(...jobs.map(scheduleJob));
      await looking.start?.(lifecycle);
    },
    async close() {
      for (const task of tasks) await task.destroy();
      const timer = setTimeout(runs.abort, abortAfter);
      const ended = Promise.resolve(looking.close?.()).then(runs.idle);
      await within(leaveAfter, ended, runs.leave);
      clearTimeout(timer);
    },
  };
}
