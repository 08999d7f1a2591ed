import { SECOND } from "../runtime/durations.ts";
import { describeError } from "../runtime/errors.ts";
import { JOB_NAMES } from "../schema/enumerations.ts";
import { readCronMetrics } from "../store/processes/cron-runs.ts";
import { type Command, CommandError, defineCommand } from "./command-line/command.ts";
import { parseOneOf, positional } from "./command-line/options.ts";

export const JOB_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "job list",
    summary: "List the scheduled jobs: when each last succeeded, and how long its present run has taken",
    options: {},
    async run(_, { db }) {
      const rows = await readCronMetrics(db, JOB_NAMES);
      return {
        data: rows.map(({ job, lastSuccess, runningFor }) => ({
          job,
          last_success: lastSuccess === null ? null : new Date(lastSuccess * SECOND),
          running_seconds: Math.round(runningFor),
        })),
      };
    },
  }),
  defineCommand({
    name: "job run",
    summary: "Run a scheduled job now, in this process, unless it is running already",
    options: {
      name: positional({ placeholder: "NAME", about: JOB_NAMES.join(", "), parse: parseOneOf(JOB_NAMES) }),
    },
    async run({ name }, { runJob, interruptSignal }): Promise<object> {
      const run = await runJob(name, interruptSignal());
      if (!run)
        throw new CommandError(`a scheduler began the job ${name} at this moment; nothing was started`);
      const { outcome, fields } = run;
      if (outcome === "overlapped")
        throw new CommandError(
          `the job ${name} is running already, on ${fields.unfinished_worker}; nothing was started`,
        );
      const { err, ms, ...counts } = fields;
      return {
        job: name,
        outcome,
        ...counts,
        ...(err === undefined ? {} : describeError(err, { withStack: false })),
        ms,
      };
    },
    isFailure: (result) => "outcome" in result && result.outcome !== "ok",
  }),
];
