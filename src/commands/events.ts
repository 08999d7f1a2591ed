import {
  REPLAYABLE_STATUSES,
  type ReplayCounts,
  type ReplayInput,
  replayEvents,
} from "../domain/events/replay.ts";
import { type PeriodInput, readPeriod } from "../schema/period.ts";
import { type Command, defineCommand, UsageError } from "./command.ts";
import { requireClient } from "./operator.ts";
import { OPTION, optional, parseOneOf, required } from "./options.ts";

export const EVENTS_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "events replay",
    summary: "Send a client's failed or skipped events of a period again; new events go first",
    options: {
      client: required(OPTION.client),
      since: required({
        ...OPTION.time,
        about: `events that occurred at or after this time, ${OPTION.time.about}`,
      }),
      until: optional({
        ...OPTION.time,
        about: "events that occurred at or before this time (default: now)",
      }),
      status: optional({
        placeholder: "STATUS",
        about: `${REPLAYABLE_STATUSES.join(", ")} (default: both)`,
        parse: parseOneOf(REPLAYABLE_STATUSES),
      }),
      key: optional(OPTION.eventKey),
    },
    async run({ client, since, until, status, key }, context): Promise<ReplayCounts> {
      const input: ReplayInput = {
        ...parsePeriod({ since, until }),
        ...(status ? { status } : {}),
        ...(key ? { key } : {}),
      };
      await requireClient(context, client);
      const expected = await replayEvents(context.db, client, { ...input, dryRun: true });
      const bar = context.progress("events", expected.queued + expected.not_redispatched);
      try {
        return await replayEvents(context.db, client, { ...input, onBatch: bar.advance });
      } finally {
        bar.end();
      }
    },
    show: ({ queued, not_redispatched: left }) =>
      left === 0
        ? `queued again: ${queued}`
        : `queued again: ${queued}; left unchanged: ${left}, because their key is disabled or no webhook_url is set`,
  }),
];

function parsePeriod(given: PeriodInput & { since: string }) {
  const period = readPeriod(given);
  if ("field" in period) throw new UsageError(`--${period.field} ${period.problem}`);
  return period as typeof period & { since: Date };
}
