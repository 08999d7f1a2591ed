import { createQueueStats, type QueueStatsParts } from "../../domain/stats/queue-stats.ts";
import {
  MAX_STATS_ROWS,
  readEventStats,
  readMessageStats,
  readStatsPeriod,
  type StatsPeriod,
  type StatsPeriodInput,
} from "../../domain/stats/read-stats.ts";
import { invalidField } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { describePeriodProblem } from "../../schema/times.ts";
import { eventStats, eventStatsQuery, messageStats, messageStatsQuery, queueStats } from "./schema.ts";

const DESCRIPTION = `Each message or event counts in the interval in which it was accepted. The period is extended to whole intervals. The figures are computed about twice a minute. A response has at most ${MAX_STATS_ROWS.toLocaleString("en")} rows; a request for more is 400: choose \`interval=day\`, a shorter period or one channel or key.`;

export function statsRoutes(parts: Omit<QueueStatsParts, "db">): Route[] {
  const readQueue = createQueueStats(parts);
  return [
    route({
      method: "get",
      path: "/api/stats/messages",
      operationId: "getMessageStats",
      scope: "messages:send",
      summary: "Count outbound messages by outcome, interval and channel",
      description: DESCRIPTION,
      query: messageStatsQuery,
      reply: messageStats,
      async handle({ db, caller, query }) {
        const search = { ...periodOf(query), channelId: query.channel_id };
        return (await readMessageStats(db, caller.clientId, search)) ?? throwTooManyRows();
      },
    }),
    route({
      method: "get",
      path: "/api/stats/events",
      operationId: "getEventStats",
      scope: "webhooks:manage",
      summary: "Count events by outcome, interval and key",
      description: DESCRIPTION,
      query: eventStatsQuery,
      reply: eventStats,
      async handle({ db, caller, query }) {
        const search = { ...periodOf(query), key: query.key };
        return (await readEventStats(db, caller.clientId, search)) ?? throwTooManyRows();
      },
    }),
    route({
      method: "get",
      path: "/api/stats/queue",
      operationId: "getQueueStats",
      scope: "webhooks:manage",
      summary: "Read how many events wait for your backend now, by key",
      reply: queueStats,
      handle: ({ db, caller }) => readQueue(db, caller.clientId),
    }),
  ];
}

function periodOf(query: StatsPeriodInput): StatsPeriod {
  const period = readStatsPeriod(query, Date.now());
  if ("field" in period) throw invalidField(`/${period.field}`, describePeriodProblem(period));
  return period;
}

function throwTooManyRows(): never {
  throw invalidField(
    "/interval",
    `the reply would have more than ${MAX_STATS_ROWS} rows: choose interval=day, a shorter period or one channel`,
  );
}
