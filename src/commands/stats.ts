import {
  type EventStats,
  type MessageStats,
  readEventStats,
  readMessageStats,
  readStatsPeriod,
  type StatsPeriod,
  type StatsPeriodInput,
} from "../domain/stats/read-stats.ts";
import { STATS_INTERVALS } from "../schema/enumerations.ts";
import { type Command, CommandError, defineCommand, requireClient } from "./command-line/command.ts";
import { OPTION, optional, parseOneOf, periodError, required } from "./command-line/options.ts";
import { toText } from "./command-line/output.ts";

interface ClientStats {
  messages: MessageStats;
  events: EventStats;
}

export const STATS_COMMAND: Command = defineCommand({
  name: "stats",
  summary: "Count a client's messages and events by outcome and interval",
  options: {
    client: required(OPTION.client),
    since: optional({
      ...OPTION.time,
      about: `start of the period, ${OPTION.time.about} (default: 24 hours before its end)`,
    }),
    until: optional({ ...OPTION.time, about: "end of the period, at most 92 days later (default: now)" }),
    interval: optional({
      placeholder: "INTERVAL",
      about: `${STATS_INTERVALS.join(", ")} in UTC (default: hour)`,
      parse: parseOneOf(STATS_INTERVALS),
    }),
  },
  async run({ client, ...input }, context): Promise<ClientStats> {
    const period = parsePeriod(input);
    await requireClient(context, client);
    const [messages, events] = [
      await readMessageStats(context.db, client, period),
      await readEventStats(context.db, client, period),
    ];
    if (!messages || !events)
      throw new CommandError("there are too many rows: choose --interval day or a shorter period");
    return { messages, events };
  },
  show: ({ messages, events }) => [showStats("messages", messages), showStats("events", events)].join("\n\n"),
});

function parsePeriod(input: StatsPeriodInput): StatsPeriod {
  const period = readStatsPeriod(input, Date.now());
  if ("field" in period) throw periodError(period);
  return period;
}

const showStats = (subject: string, { since, until, updated_at, totals, data }: MessageStats | EventStats) =>
  [
    `${subject} from ${since} to ${until}, as of ${updated_at}`,
    toText({ data }),
    ...(data.length === 0 ? [] : [toText({ data: [{ total: "", ...totals }] })]),
  ].join("\n");
