import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import {
  oldestUnread,
  readCursor,
  type StreamCursor,
  writeCursor,
} from "../../domain/events/stream/cursor.ts";
import type { EventStream, ItemPage } from "../../domain/events/stream/event-stream.ts";
import type { OpenStreams, Reader } from "../../domain/events/stream/open-streams.ts";
import { ApiError, invalidField, notFound, overloaded, retryAfter } from "../../http/api-error.ts";
import { bindToFilters, type Cursors, periodOf } from "../../http/lists.ts";
import { EventStreamReply, type Route, route } from "../../http/route.ts";
import { STREAM_LIMITS, type StreamLimit } from "../../queue/stream-places.ts";
import { onAbort } from "../../runtime/async/timeouts-and-retries.ts";
import { DAY, MINUTE, SECOND } from "../../runtime/durations.ts";
import { stringifyJson } from "../../runtime/json/json.ts";
import { EVENT_KEYS, EVENT_TYPES } from "../../schema/enumerations.ts";
import type { Static } from "../../schema/types.ts";
import { findChannel } from "../../store/channels/channels.ts";
import type { StreamFilters } from "../../store/events/stream-pages.ts";
import { DEFAULT_LIMIT, STREAM_EXAMPLE, streamPage, streamQuery } from "./stream-schema.ts";

export interface StreamRouteParts {
  streams: OpenStreams;
  retentionDays: number;
  /** Only tests have other times. */
  times?: StreamTimes;
}

interface StreamTimes {
  pingIntervalMs: number;
  maxStreamMs: number;
}

const STREAM_TIMES: StreamTimes = { pingIntervalMs: 15 * SECOND, maxStreamMs: 15 * MINUTE };

/** The size of a page: one of the JSON form is an answer as a whole; a slow reader of a stream keeps two in memory. */
const JSON_PAGE_BYTES = 1_000_000;
const STREAM_PAGE = { maxRows: 100, maxBytes: 131_072 };

const RECONNECT_MS = 1 * SECOND;

export const streamRoutes = ({ streams, retentionDays, times = STREAM_TIMES }: StreamRouteParts): Route[] => [
  route({
    method: "get",
    path: "/api/events/stream",
    operationId: "streamEvents",
    scope: "webhooks:manage",
    summary: "Follow the events as they are recorded",
    description: [
      "Every event that is recorded for the client, whatever the switches of the webhook configuration say. A reader that follows the cursor gets every event at least once, normally within 2 seconds, in approximately the order of recording; it may get one again: drop repetitions by `event_id`. A cursor is valid for the client and the filters it was made with.",
      "JSON, by default: the events after the cursor, waiting up to `wait` seconds for the first one.",
      "Server-sent events, when `Accept` names `text/event-stream`: each event is a message `event` whose `id` is the cursor; the first message has only an id. `Last-Event-ID` has precedence over `cursor` and `since`. Every 15 seconds a comment keeps the connection open. The server ends the stream after 15 minutes, when it stops, when the credential no longer allows it, and when the reader takes nothing for 60 seconds: connect again with the last id.",
      `Open streams and waiting requests: ${STREAM_LIMITS.credential} of a credential and ${STREAM_LIMITS.client} of a client, otherwise 429 \`rate_limited\`.`,
    ].join("\n\n"),
    errors: ["not_found", "rate_limited", "overloaded"],
    headers: { "X-Accel-Buffering": "no" },
    query: streamQuery,
    reply: streamPage,
    eventStream: { example: STREAM_EXAMPLE },
    async handle({ db, caller, query, header, callerGone, wantsEventStream, isStillAllowed, ...context }) {
      const { clientId } = caller;
      const filters = readFilters(query);
      if (query.channel_id !== undefined && !(await findChannel(db, clientId, query.channel_id)))
        throw notFound("channel");
      const cursors = bindToFilters(context.cursors, [hashOf(filters)]);
      const encode = (cursor: StreamCursor) => cursors.encode(writeCursor(cursor));
      const lastEventId = wantsEventStream ? header("last-event-id") : undefined;
      const start = readStart({ ...query, lastEventId }, { cursors, retentionDays });
      const page = wantsEventStream ? readStreamPageLimits(query) : jsonPage(query.limit);
      const stream = await streams.open(db, { clientId, filters, start, ...page });
      const enter = async () =>
        requirePlace(
          await streams.enter({
            clientId,
            credential: keyOf(caller.credential),
            stream,
            isAllowed: isStillAllowed,
          }),
        );
      const gone = callerGone();
      onAbort(gone, stream.stopWaiting);
      if (wantsEventStream) {
        const reader = await enter();
        const reply = new EventStreamReply(blocksOf({ stream, reader, gone, times }, encode), reader.leave);
        cutInTime(reply.body, { ended: reader.ended, maxMs: times.maxStreamMs });
        return reply;
      }
      const { items, hasMore } = await nextPage({ stream, enter, gone }, (query.wait ?? 0) * SECOND);
      return { data: items.map(({ item }) => item), cursor: encode(stream.cursor()), has_more: hasMore };
    },
  }),
];

type StreamQuery = Static<typeof streamQuery>;

const jsonPage = (limit = DEFAULT_LIMIT) => ({ maxRows: limit, maxBytes: JSON_PAGE_BYTES });

function readStreamPageLimits(query: StreamQuery): typeof STREAM_PAGE {
  for (const field of ["wait", "limit"] as const)
    if (query[field] !== undefined)
      throw invalidField(`/${field}`, `${field} is for the JSON form: text/event-stream has none`);
  return STREAM_PAGE;
}

/** Sorted and without repetitions, so that a cursor is valid for every spelling of the filters. */
function readFilters({ types, keys, channel_id: channelId }: StreamQuery): StreamFilters {
  return {
    types: readWords("types", types, EVENT_TYPES),
    keys: readWords("keys", keys, EVENT_KEYS),
    channelId,
  };
}

function readWords(field: string, text: string | undefined, known: readonly string[]): string[] | undefined {
  if (text === undefined) return undefined;
  const words = [...new Set(text.split(","))].sort();
  if (words.every((word) => known.includes(word))) return words;
  throw invalidField(`/${field}`, `${field} must be some of ${known.join(", ")}, separated by commas`);
}

const hashOf = (filters: StreamFilters): string =>
  createHash("sha256").update(JSON.stringify(filters)).digest("base64url").slice(0, 16);

interface StartInput {
  cursor?: string | undefined;
  since?: string | undefined;
  lastEventId: string | undefined;
}

interface StartRules {
  cursors: Cursors;
  retentionDays: number;
}

/** Returns where to begin, undefined for now. Throws a 400 for a start whose events may be deleted. */
function readStart(
  { cursor, since, lastEventId }: StartInput,
  { cursors, retentionDays }: StartRules,
): StreamCursor | undefined {
  const oldest = Date.now() - retentionDays * DAY;
  if (lastEventId)
    return requireRecent("Last-Event-ID", cursors.decode(lastEventId, "Last-Event-ID"), oldest);
  if (cursor !== undefined && since !== undefined)
    throw invalidField("/since", "cursor and since are mutually exclusive");
  if (cursor !== undefined) return requireRecent("cursor", cursors.decode(cursor, "cursor"), oldest);
  if (since === undefined) return undefined;
  const time = periodOf({ since }).since.getTime();
  if (time > Date.now()) throw invalidField("/since", "since must not be in the future");
  if (time < oldest)
    throw invalidField("/since", `since must not be older than ${retentionDays} days${oldestHint(oldest)}`);
  return { from: { since: time } };
}

function requireRecent(field: string, text: string, oldest: number): StreamCursor {
  const cursor = readCursor(text);
  if (oldestUnread(cursor) >= oldest) return cursor;
  throw invalidField(`/${field}`, `${field} is too old: events after it may be deleted${oldestHint(oldest)}`);
}

/** A little later than the limit, so that a request with it is not too late. */
const oldestHint = (oldest: number): string =>
  `. The oldest possible since is ${new Date(oldest + MINUTE).toISOString()}`;

interface Credential {
  type: string;
  id: string;
  sessionId?: string | null;
}

/** Each session of a user has its own places. */
const keyOf = ({ type, id, sessionId }: Credential): string => `${type}:${sessionId ?? id}`;

const RETRY_AFTER_MS = 5 * SECOND;

function requirePlace(entered: Reader | StreamLimit): Reader {
  if (typeof entered !== "string") return entered;
  if (entered === "process") throw overloaded();
  const message = `A ${entered} may have ${STREAM_LIMITS[entered]} open streams and waiting requests`;
  throw new ApiError("rate_limited", message, { headers: retryAfter(RETRY_AFTER_MS) });
}

interface WaitingParts {
  stream: EventStream;
  enter(): Promise<Reader>;
  gone: AbortSignal;
}

/** The next page of the JSON form. Takes a place only when it waits. */
async function nextPage({ stream, enter, gone }: WaitingParts, waitMs: number): Promise<ItemPage> {
  const endsAt = performance.now() + waitMs;
  let page = await stream.read();
  if (page.items.length > 0 || waitMs === 0) return page;
  const reader = await enter();
  try {
    while (page.items.length === 0 && performance.now() < endsAt && !reader.ended.aborted && !gone.aborted)
      page = await stream.wait(endsAt - performance.now());
    return page;
  } finally {
    reader.leave();
  }
}

/** A reader that takes its stream slowly has this long to take the rest after its end. */
const END_GRACE_MS = 1 * SECOND;

/** Ends a stream whose reader does not take the end of it. */
function cutInTime(body: Readable, { ended, maxMs }: { ended: AbortSignal; maxMs: number }): void {
  const cut = () => body.destroy();
  const timers = [setTimeout(cut, maxMs + END_GRACE_MS)];
  onAbort(ended, () => timers.push(setTimeout(cut, END_GRACE_MS)));
  body.once("close", () => timers.forEach(clearTimeout));
}

interface StreamParts {
  stream: EventStream;
  reader: Reader;
  gone: AbortSignal;
  times: StreamTimes;
}

/** The text of a stream of server-sent events. */
async function* blocksOf(
  { stream, reader, gone, times }: StreamParts,
  encode: (cursor: StreamCursor) => string,
): AsyncGenerator<string> {
  const endsAt = performance.now() + times.maxStreamMs;
  let pingAt = performance.now() + times.pingIntervalMs;
  let sentCursor = encode(stream.cursor());
  yield `retry: ${RECONNECT_MS}\nid: ${sentCursor}\n\n`;
  while (!reader.ended.aborted && !gone.aborted && performance.now() < endsAt) {
    const { items } = await stream.wait(Math.max(0, Math.min(pingAt, endsAt) - performance.now()));
    const blocks = items.map(({ item, cursor }) => {
      sentCursor = encode(cursor);
      return `id: ${sentCursor}\nevent: event\n${toDataLines(stringifyJson(item))}\n\n`;
    });
    if (blocks.length > 0) yield blocks.join("");
    if (performance.now() < pingAt) continue;
    pingAt = performance.now() + times.pingIntervalMs;
    const cursor = encode(stream.cursor());
    yield cursor === sentCursor ? ": ping\n\n" : `: ping\nid: ${cursor}\n\n`;
    sentCursor = cursor;
  }
}

/** A payload is stored as it came, so it may contain line breaks. */
const toDataLines = (text: string): string =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}`)
    .join("\n");
