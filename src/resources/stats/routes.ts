import { readFailurePeriod, readFailures } from "../../domain/stats/failures.ts";
import { createQueueStats, type QueueStatsParts } from "../../domain/stats/queue-stats.ts";
import {
  MAX_STATS_ROWS,
  readBatchStats,
  readEventStats,
  readMessageStats,
  readStatsPeriod,
  type StatsPeriod,
  type StatsPeriodInput,
} from "../../domain/stats/read-stats.ts";
import { ApiError, invalidField, notFound } from "../../http/api-error.ts";
import { createHeavyRequests } from "../../http/heavy-requests.ts";
import { type Route, route } from "../../http/route.ts";
import { describePeriodProblem, type PeriodProblem } from "../../schema/times.ts";
import {
  eventStats,
  eventStatsQuery,
  failures,
  failuresQuery,
  messageStats,
  messageStatsQuery,
  queueStats,
} from "./schema.ts";

const DESCRIPTION = `Each message or event counts in the interval in which it was accepted. The period is extended to whole intervals. The figures are computed about twice a minute. A response has at most ${MAX_STATS_ROWS.toLocaleString("en")} rows; a request for more is 400: choose \`interval=day\`, a shorter period or one channel or key.`;

export function statsRoutes(parts: Omit<QueueStatsParts, "db">): Route[] {
  const readQueue = createQueueStats(parts);
  const failureReads = createHeavyRequests("request for failures");
  return [
    route({
      method: "get",
      path: "/api/stats/messages",
      operationId: "getMessageStats",
      scope: "messages:send",
      summary: "Count outbound messages by outcome, interval and channel",
      description: DESCRIPTION,
      errors: ["not_found"],
      query: messageStatsQuery,
      reply: messageStats,
      async handle({ db, caller, query }) {
        const search = { ...periodOf(query), channelId: query.channel_id };
        const { batch_id: batchId } = query;
        if (batchId !== undefined)
          return (await readBatchStats(db, caller.clientId, { ...search, batchId })) ?? throwNoBatch();
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
      path: "/api/stats/failures",
      operationId: "getFailures",
      scope: ["webhooks:manage", "messages:send"],
      summary: "Group failed messages and events by cause",
      description:
        "Counts the events whose delivery failed (scope `webhooks:manage`) and the messages that failed (scope `messages:send`), by the time at which they failed; the part without its scope is left out. What was sent again or delivered since does not count. The figures are live. A client reads them once at a time: another request meanwhile is 429 `rate_limited`. A period with too many failures to count in time is 503 `overloaded`: choose a shorter one.",
      errors: ["rate_limited", "overloaded"],
      query: failuresQuery,
      reply: failures,
      async handle({ db, caller, query }) {
        const period = readFailurePeriod(query, Date.now());
        if ("field" in period) throw invalidPeriod(period);
        const kinds = [
          ...(caller.scopes.has("messages:send") ? (["messages"] as const) : []),
          ...(caller.scopes.has("webhooks:manage") ? (["deliveries"] as const) : []),
        ];
        const data = await failureReads.run(caller.clientId, () =>
          readFailures(db, caller.clientId, { period, kinds }),
        );
        if (data) return { data };
        throw new ApiError(
          "overloaded",
          "The failures could not be counted in time: choose a shorter period",
        );
      },
    }),
    route({
      method: "get",
      path: "/api/stats/queue",
      operationId: "getQueueStats",
      scope: "webhooks:manage",
      summary:
        "Read how many events wait for your backend now, by key, and since when the oldest message waits",
      reply: queueStats,
      async handle({ db, caller }) {
        const queue = await readQueue(db, caller.clientId);
        return caller.scopes.has("messages:send") ? queue : { ...queue, oldest_message_at: null };
      },
    }),
  ];
}

function periodOf(query: StatsPeriodInput): StatsPeriod {
  const period = readStatsPeriod(query, Date.now());
  if ("field" in period) throw invalidPeriod(period);
  return period;
}

const invalidPeriod = (problem: PeriodProblem): ApiError =>
  invalidField(`/${problem.field}`, describePeriodProblem(problem));

function throwNoBatch(): never {
  throw notFound("batch");
}

function throwTooManyRows(): never {
  throw invalidField(
    "/interval",
    `the reply would have more than ${MAX_STATS_ROWS} rows: choose interval=day, a shorter period or one channel`,
  );
}
