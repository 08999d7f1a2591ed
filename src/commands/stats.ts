import { readFailurePeriod, readFailures } from "../domain/stats/failures.ts";
import {
  type EventStats,
  type MessageStats,
  readEventStats,
  readMessageStats,
  readStatsPeriod,
} from "../domain/stats/read-stats.ts";
import { STATS_INTERVALS } from "../schema/enumerations.ts";
import type { FailureGroupDto } from "../schema/failures.ts";
import type { PeriodProblem } from "../schema/times.ts";
import { type Command, CommandError, defineCommand } from "./command-line/command.ts";
import { OPTION, optional, parseOneOf, periodError, required } from "./command-line/options.ts";
import { toColumns, toText } from "./command-line/output.ts";
import { requireClient } from "./command-line/require-client.ts";

interface ClientStats {
  messages: MessageStats;
  events: EventStats;
}

/** The options of a period of at most this many days. */
const periodOptions = (maxDays: number) => ({
  since: optional({
    ...OPTION.time,
    about: `start of the period, ${OPTION.time.about} (default: 24 hours before its end)`,
  }),
  until: optional({
    ...OPTION.time,
    about: `end of the period, at most ${maxDays} days later (default: now)`,
  }),
});

export const STATS_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "stats",
    summary: "Count a client's messages and events by outcome and interval",
    options: {
      client: required(OPTION.client),
      ...periodOptions(92),
      interval: optional({
        placeholder: "INTERVAL",
        about: `${STATS_INTERVALS.join(", ")} in UTC (default: hour)`,
        parse: parseOneOf(STATS_INTERVALS),
      }),
    },
    async run({ client, ...input }, context): Promise<ClientStats> {
      const search = requirePeriod(readStatsPeriod(input, Date.now()));
      await requireClient(context, client);
      const [messages, events] = [
        await readMessageStats(context.db, client, search),
        await readEventStats(context.db, client, search),
      ];
      if (!messages || !events)
        throw new CommandError("there are too many rows: choose --interval day or a shorter period");
      return { messages, events };
    },
    show: ({ messages, events }) =>
      [showStats("messages", messages), showStats("events", events)].join("\n\n"),
  }),
  defineCommand({
    name: "stats failures",
    summary: "Group a client's failed messages and events by cause, most frequent first",
    options: {
      client: required(OPTION.client),
      ...periodOptions(31),
    },
    async run({ client, ...input }, context) {
      const search = { period: requirePeriod(readFailurePeriod(input, Date.now())), kinds: FAILURE_KINDS };
      await requireClient(context, client);
      const data = await readFailures(context.db, client, search);
      if (!data) throw new CommandError("the failures could not be counted in time: choose a shorter period");
      return { data };
    },
    show: ({ data }) => toColumns(data.map(toShownFailures), SHOWN_FAILURE_FIELDS),
  }),
];

function requirePeriod<P extends object>(period: P | PeriodProblem): P {
  if ("field" in period) throw periodError(period as PeriodProblem);
  return period as P;
}

const FAILURE_KINDS = ["messages", "deliveries"] as const;

/** Both kinds in the same columns. */
const toShownFailures = (group: FailureGroupDto) => ({
  ...group,
  subject: group.kind === "message" ? group.channel_id : group.key,
  host: group.kind === "message" ? null : (group.host ?? null),
});

const SHOWN_FAILURE_FIELDS = [
  "count",
  "kind",
  "subject",
  "host",
  "cause",
  "status_code",
  "last_at",
  "sample_id",
] as const;

const showStats = (subject: string, { since, until, updated_at, totals, data }: MessageStats | EventStats) =>
  [
    `${subject} from ${since} to ${until}, as of ${updated_at}`,
    toText({ data }),
    ...(data.length === 0 ? [] : [toText({ data: [{ total: "", ...totals }] })]),
  ].join("\n");
