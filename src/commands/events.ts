import {
  countReplay,
  REPLAYABLE_STATUSES,
  type ReplayCounts,
  type ReplayInput,
  replayEvents,
} from "../domain/events/replay.ts";
import { searchEvents, toEvent, toEventDetail } from "../domain/events/search-events.ts";
import { readBackendState } from "../domain/stats/queue-stats.ts";
import { awaitConnection } from "../queue/redis.ts";
import { tagsOf } from "../queue/wake-ups.ts";
import { SECOND } from "../runtime/durations.ts";
import { timeOfId } from "../runtime/ids.ts";
import { EVENT_STATUSES, EVENT_TYPES } from "../schema/enumerations.ts";
import type { Database } from "../store/database/database.ts";
import { findEvent, listAttempts } from "../store/events/events.ts";
import { retryEvent } from "../store/events/replays.ts";
import { readQueueHold } from "../store/processes/queue-hold.ts";
import { findOwner } from "../store/tenants/clients.ts";
import { type Command, type CommandContext, CommandError, defineCommand } from "./command-line/command.ts";
import {
  DEFAULT_LISTED_ROWS,
  OPTION,
  optional,
  parseOneOf,
  parsePeriod,
  positional,
  required,
} from "./command-line/options.ts";
import { readFirstRows, toColumns, toText } from "./command-line/output.ts";
import { requireClient } from "./command-line/require-client.ts";

/** Herald may have recorded an event much later than it occurred. */
const OCCURRED = "the time at which they occurred at the platform";

const CONNECT_TIMEOUT_MS = 5 * SECOND;

/** Longer than this, the progress is shown without a total. */
const MAX_COUNT_MS = 20 * SECOND;

/** Filters of the list and of a replay. */
const SUBJECT_OPTIONS = {
  key: optional(OPTION.eventKey),
  type: optional({
    placeholder: "TYPE",
    about: "such as message.status",
    parse: parseOneOf(EVENT_TYPES),
  }),
  channelId: optional(OPTION.channel),
  messageId: optional({ ...OPTION.message, about: "id of an outbound message" }),
};

export const EVENTS_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "events replay",
    summary: "Send a client's failed or skipped events of a period again; new events go first",
    options: {
      client: required(OPTION.client),
      since: required({
        ...OPTION.time,
        about: `events by ${OCCURRED}: at or after this, ${OPTION.time.about}`,
      }),
      until: optional({
        ...OPTION.time,
        about: `events by ${OCCURRED}: at or before this (default: now)`,
      }),
      status: optional({
        placeholder: "STATUS",
        about: `${REPLAYABLE_STATUSES.join(", ")} (default: both)`,
        parse: parseOneOf(REPLAYABLE_STATUSES),
      }),
      ...SUBJECT_OPTIONS,
    },
    async run({ client, since, until, channelId, messageId, ...values }, context): Promise<ReplayCounts> {
      const period = parsePeriod({ since, until });
      const input: ReplayInput = {
        ...values,
        ...period,
        channel_id: channelId,
        message_id: messageId,
        since: period.since as Date, // the option is required
      };
      await requireClient(context, client);
      const expected = await countReplay(context.db, client, { ...input, timeoutMs: MAX_COUNT_MS });
      const bar = context.progress("events", expected && expected.queued + expected.not_redispatched);
      try {
        return await replayEvents(context.db, client, { ...input, onBatch: bar.advance });
      } finally {
        bar.end();
      }
    },
    show: ({ queued, by_type, not_redispatched: left }) => {
      const types = Object.entries(by_type).map(([type, count]) => `${type} ${count}`);
      return [
        `queued again: ${queued}${types.length === 0 ? "" : ` (${types.join(", ")})`}`,
        ...(left === 0
          ? []
          : [`left unchanged: ${left}, because their key is disabled or no webhook_url is set`]),
      ].join("; ");
    },
  }),
  defineCommand({
    name: "events list",
    summary: "List a client's events and the state of their delivery, newest first",
    options: {
      client: required(OPTION.client),
      status: optional({
        placeholder: "STATUS",
        about: EVENT_STATUSES.join(", "),
        parse: parseOneOf(EVENT_STATUSES),
      }),
      ...SUBJECT_OPTIONS,
      since: optional({ ...OPTION.time, about: `events by ${OCCURRED}: at or after this` }),
      until: optional({ ...OPTION.time, about: `events by ${OCCURRED}: at or before this` }),
      limit: optional(OPTION.limit),
    },
    async run(
      { client, channelId, messageId, since, until, limit = DEFAULT_LISTED_ROWS, ...values },
      context,
    ) {
      const ids = { channel_id: channelId, message_id: messageId };
      const filters = { ...values, ...ids, ...parsePeriod({ since, until }) };
      await requireClient(context, client);
      const rows = await readFirstRows(context, limit, (page) =>
        searchEvents(context.db, client, { page, filters }),
      );
      return { data: rows.map(toEvent) };
    },
    show: ({ data }) =>
      toColumns(
        data.map((event) => ({ ...event, recorded_at: new Date(timeOfId(event.id)) })),
        SHOWN_FIELDS,
      ),
  }),
  defineCommand({
    name: "events show",
    summary: "Show an event of any client and the attempts to deliver it, without its payload",
    options: { id: positional(OPTION.event) },
    async run({ id }, context) {
      const { db } = context;
      const clientId = await requireOwner(db, id);
      const row = await findEvent(db, clientId, id);
      if (!row) throw noEvent(id); // deleted meanwhile
      const { payload, headers, delivery_attempts, ...event } = toEventDetail(
        row,
        await listAttempts(db, clientId, id),
      );
      const waits_for = event.status === "pending" ? await findObstacle(context, clientId) : null;
      return { event: { client_id: clientId, ...event, waits_for }, delivery_attempts };
    },
    show: ({ event, delivery_attempts }) =>
      `${toText(event)}\n\n${toColumns(delivery_attempts, ATTEMPT_FIELDS)}`,
  }),
  defineCommand({
    name: "events retry",
    summary: "Send an event of any client again now, even if it was delivered",
    options: { id: positional(OPTION.event) },
    async run({ id }, { db }) {
      const clientId = await requireOwner(db, id);
      const row = await retryEvent(db, clientId, id);
      if (!row) throw noEvent(id);
      if (row.is_held)
        throw new CommandError(
          `nothing was sent: the key of ${id} is disabled, or its client has no webhook_url`,
        );
      return { client_id: clientId, ...toEvent(row) };
    },
  }),
];

const noEvent = (id: string) => new CommandError(`there is no event ${id}`);

async function requireOwner(db: Database, id: string): Promise<string> {
  const clientId = await findOwner(db, "events", id);
  if (clientId === undefined) throw noEvent(id);
  return clientId;
}

/**
 * What a pending event waits for: an operator's release of the queue, the client's backend behind its circuit breaker, or
 * only its next attempt.
 */
async function findObstacle({ db, redis, config }: CommandContext, clientId: string) {
  if ((await readQueueHold(db)).held) return "hold";
  await awaitConnection(redis, CONNECT_TIMEOUT_MS);
  const { breaker } = await readBackendState({ db, redis, tags: tagsOf(config) }, clientId);
  return breaker === "closed" ? "attempt" : "breaker";
}

/** Without the excerpts of responses, which may have any length and content; `--json` has them. */
const ATTEMPT_FIELDS = ["attempt", "at", "status_code", "duration_ms", "error"] as const;

const SHOWN_FIELDS = [
  "id",
  "type",
  "key",
  "status",
  "attempts",
  "last_status_code",
  "last_error",
  "next_attempt_at",
  "occurred_at",
  "recorded_at",
] as const;
