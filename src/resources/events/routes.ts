import { countReplay, type ReplayInput, replayEvents } from "../../domain/events/replay.ts";
import { searchEvents, toEvent, toEventDetail } from "../../domain/events/search-events.ts";
import { ApiError, notFound } from "../../http/api-error.ts";
import { createHeavyRequests } from "../../http/heavy-requests.ts";
import { listById, listOf, listQuery, pageRequest, periodOf } from "../../http/lists.ts";
import { type Route, route } from "../../http/route.ts";
import type { EventNotifier } from "../../queue/wake-ups.ts";
import { SECOND } from "../../runtime/durations.ts";
import { event, eventDetail } from "../../schema/events/event.ts";
import type { Database } from "../../store/database/database.ts";
import { findEvent, listAttempts } from "../../store/events/events.ts";
import { retryEvent } from "../../store/events/replays.ts";
import { eventFilters, eventParams, eventReplay, replayedEvents, retriedEvent } from "./schema.ts";
import { type StreamRouteParts, streamRoutes } from "./stream-routes.ts";

const noSuchEvent = () => notFound("event");

/** Below the time that a request waits for Postgres. */
const MAX_COUNT_MS = 4 * SECOND;

interface EventParts extends StreamRouteParts {
  notifier: EventNotifier;
}

export function eventRoutes({ notifier, ...parts }: EventParts): Route[] {
  const bulkRetries = createHeavyRequests("bulk retry");
  return [
    ...streamRoutes(parts),
    route({
      method: "get",
      path: "/api/webhooks/events",
      operationId: "listEvents",
      scope: "webhooks:manage",
      summary: "List events and the state of their delivery, newest first",
      query: listQuery(eventFilters),
      reply: listOf(event),
      async handle({ db, caller, query, cursors }) {
        const { since, until, limit, after, before, ...values } = query;
        const page = pageRequest(query, cursors);
        const filters = { ...values, ...periodOf(query) };
        const rows = await searchEvents(db, caller.clientId, { page, filters });
        return listById(rows, toEvent, { page, cursors });
      },
    }),
    route({
      method: "get",
      path: "/api/webhooks/events/{id}",
      operationId: "getEvent",
      scope: "webhooks:manage",
      summary: "Read an event with its payload and delivery attempts",
      params: eventParams,
      reply: eventDetail,
      async handle({ db, caller, params }) {
        const row = await findEvent(db, caller.clientId, params.id);
        if (!row) throw noSuchEvent();
        return toEventDetail(row, await listAttempts(db, caller.clientId, params.id));
      },
    }),
    route({
      method: "post",
      path: "/api/webhooks/events/{id}/retry",
      operationId: "retryEvent",
      scope: "webhooks:manage",
      summary: "Send an event again now, even if it was delivered",
      description:
        "Restarts the retry schedule; the count of attempts continues. The client's open event streams get the event too, with `replay: true`. While the event's key is disabled or no webhook_url is set, nothing changes and the response is 200.",
      params: eventParams,
      status: 202,
      reply: retriedEvent,
      otherwise: {
        status: 200,
        when: ({ redispatched }) => !redispatched,
        example: { status: "skipped", skip_reason: "disabled", next_attempt_at: null, redispatched: false },
      },
      async handle({ db, caller, params }) {
        const row = await retryEvent(db, caller.clientId, params.id);
        if (!row) throw noSuchEvent();
        if (!row.is_held) notifier.notify([caller.clientId]);
        parts.streams.replay(caller.clientId, row.id);
        return { ...toEvent(row), redispatched: !row.is_held };
      },
    }),
    route({
      method: "post",
      path: "/api/webhooks/events/retry",
      operationId: "retryEvents",
      scope: "webhooks:manage",
      summary: "Send all failed or skipped events of a period again",
      description:
        "Events that are sent again never delay new events. A client runs one bulk retry at a time: another one meanwhile is 429 `rate_limited`. When the caller disconnects, the events that were not reached yet stay unchanged. A `dry_run` of more events than can be counted in 4 seconds is 503 `overloaded`: choose a shorter period.",
      errors: ["rate_limited", "overloaded"],
      body: eventReplay,
      status: 202,
      reply: replayedEvents,
      handle({ db, caller: { clientId }, body, callerGone }) {
        const { since, until, dry_run: dryRun = false, ...filters } = body;
        const input = { ...filters, ...periodOf(body) };
        const own = { ...input, signal: callerGone() };
        return bulkRetries.run(clientId, () =>
          dryRun ? requireCount(db, clientId, own) : replayEvents(db, clientId, own),
        );
      },
    }),
  ];
}

async function requireCount(db: Database, clientId: string, input: ReplayInput & { signal: AbortSignal }) {
  const counts = await countReplay(db, clientId, { ...input, timeoutMs: MAX_COUNT_MS });
  if (counts) return counts;
  throw new ApiError("overloaded", "The events could not be counted in time: choose a shorter period");
}
