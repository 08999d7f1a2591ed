import type { Test } from "tap";
import { WORKER_DEAD_AFTER_MS } from "../../../src/runtime/deadlines.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { Member } from "./deployment.ts";
import { longestGap } from "./longest-gap.ts";

/** Settings that run each job every second, so that the schedulers compete for many ticks. */
export const CRON_SETTINGS = {
  CRON_TOKENS: "* * * * * *",
  CRON_REPORTS: "* * * * * *",
  CRON_MAINTENANCE: "* * * * * *",
};

const JOBS = ["tokens", "reports", "maintenance"];

interface Run {
  /** Job and time of the tick. */
  tick: string;
  job: string;
  scheduledAt: number;
  outcome: string;
}

/** The runs in the scheduler's log, without ticks that did not run. */
function readRuns({ process }: Member): Run[] {
  return process.lines().flatMap(({ event, job, scheduled_at, outcome }) =>
    event === "cron.ran" && outcome !== "overlapped"
      ? [
          {
            tick: `${job} ${scheduled_at}`,
            job: String(job),
            scheduledAt: Date.parse(String(scheduled_at)),
            outcome: String(outcome),
          },
        ]
      : [],
  );
}

/** The number of runs of a scheduler whose ticks were due in this period. */
export const countRuns = (scheduler: Member, { from, to }: { from: number; to: number }): number =>
  readRuns(scheduler).filter(({ scheduledAt }) => scheduledAt >= from && scheduledAt <= to).length;

/**
 * Checks that each tick ran once and succeeded, and that each job ran on. All schedulers must have stopped: a run is logged
 * after it is stored.
 */
export async function checkCronRuns(t: Test, db: Database, schedulers: readonly Member[]): Promise<void> {
  const runs = schedulers.flatMap(readRuns);
  const stored = await db.query<{ job: string; scheduled_at: Date }>(
    "select job, scheduled_at from cron_runs where outcome = 'ok'",
  );
  const ticks = runs.map(({ tick }) => tick).sort();
  const storedTicks = stored.map(({ job, scheduled_at }) => `${job} ${scheduled_at.toISOString()}`).sort();
  t.equal(new Set(ticks).size, ticks.length, "no tick is run twice");
  t.same(ticks, storedTicks, "the logs and cron_runs agree");
  t.same(
    runs.filter(({ outcome }) => outcome !== "ok"),
    [],
    "every run succeeds",
  );
  const from = Math.min(...schedulers.map(({ readyAt }) => readyAt));
  const to = Math.max(...schedulers.map(({ signalledAt }) => signalledAt as number));
  for (const name of JOBS) {
    const times = runs.flatMap(({ job, scheduledAt }) => (job === name ? [scheduledAt] : []));
    const gapMs = longestGap(times, { from, to });
    // A run that a stopped scheduler left unfinished would block its job for this time.
    t.ok(gapMs < WORKER_DEAD_AFTER_MS, `${name}: at most ${gapMs} ms between two runs`);
  }
}
