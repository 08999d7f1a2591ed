import { type ScheduledTask, schedule } from "node-cron";
import { repeat } from "../../src/runtime/async/repeat.ts";
import { withTimeout } from "../../src/runtime/async/with-timeout.ts";
import {
  ABORT_JOBS_AFTER_MS,
  SCHEDULER_CLOSE_TIMEOUT_MS,
  WORKER_DEAD_AFTER_MS,
} from "../../src/runtime/deadlines.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/logging/log.ts";
import type { Metrics } from "../../src/runtime/metrics/metrics.ts";
import type { Worker } from "../../src/runtime/supervise.ts";
import type { WorkTracker } from "../../src/runtime/watchdog/work-tracker.ts";
import type { Database } from "../../src/store/database/database.ts";
import type { Job } from "./job.ts";
import { createTickRecorder } from "./record.ts";
import { createRuns } from "./runs.ts";

/** In milliseconds. */
interface CronTimes {
  deadAfter: number;
  /** Between two checks for runs of dead schedulers. */
  checkPeersInterval: number;
  /** From the start of the shutdown until running jobs are asked to stop. */
  abortAfter: number;
  /** From the start of the shutdown until running jobs are abandoned. */
  exitAfter: number;
}

const DEFAULT_TIMES_MS: CronTimes = {
  deadAfter: WORKER_DEAD_AFTER_MS,
  checkPeersInterval: 2 * SECOND,
  abortAfter: ABORT_JOBS_AFTER_MS,
  exitAfter: SCHEDULER_CLOSE_TIMEOUT_MS,
};

interface CronParts {
  id: string;
  jobs: readonly Job[];
  db: Database;
  log: Log;
  metrics: Metrics;
  tracker: WorkTracker;
  aliveForMs(): number;
  times?: Partial<CronTimes>;
}

/** A tick delayed by more than this, because the process was busy or suspended, is recorded as missed and not run here. */
const MAX_TICK_DELAY_MS = 30 * SECOND;

/** Runs each tick (UTC) on the scheduler that claims it first, and repeats the unfinished runs of dead schedulers. */
export function cron({ jobs, log, metrics, times, ...parts }: CronParts): Worker {
  const { deadAfter, checkPeersInterval, abortAfter, exitAfter } = { ...DEFAULT_TIMES_MS, ...times };
  const recordTick = createTickRecorder(log, metrics);
  const runs = createRuns({ ...parts, jobs, log, recordTick, deadAfter });
  const peerCheck = repeat({
    name: "cron_peer_check",
    intervalMs: checkPeersInterval,
    work: runs.checkPeers,
    log,
  });
  const tasks: ScheduledTask[] = [];

  function scheduleJob(job: Job): ScheduledTask {
    const options = {
      timezone: "UTC",
      name: job.name,
      missedExecutionTolerance: MAX_TICK_DELAY_MS,
      suppressMissedWarning: true, // recorded below instead
    };
    const task = schedule(job.expression, ({ date }) => runs.onTick(job, date), options);
    task.on("execution:missed", ({ date }) => recordTick({ job: job.name, scheduledAt: date }, "missed"));
    return task;
  }

  return {
    name: "cron",
    async start(lifecycle) {
      tasks.push(...jobs.map(scheduleJob));
      await peerCheck.start?.(lifecycle);
    },
    async close() {
      for (const task of tasks) await task.destroy();
      const timer = setTimeout(runs.abort, abortAfter);
      const drained = Promise.resolve(peerCheck.close?.()).then(runs.drain);
      await withTimeout(exitAfter, drained, runs.abandon);
      clearTimeout(timer);
    },
  };
}
