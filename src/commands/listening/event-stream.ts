import { jittered, pause, withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../runtime/durations.ts";
import { type JsonSource, openJson } from "../../runtime/json/json-source.ts";
import { faultText, refusalOf, requestApi } from "../command-line/api-client.ts";
import { type ApiAccess, CommandError } from "../command-line/command.ts";

/** An event as the stream sends it. */
export interface StreamedEvent {
  eventId: string;
  type: string;
  key: string | null;
  /** What a delivery appends to webhook_url; null when nothing is. */
  path: string | null;
  isReplay: boolean;
  channelId: string | null;
  /** The body that a backend gets, character for character: parsing it would round large integers. */
  payload: string;
}

/** A position in the stream, and the event at it; a ping has only a position. */
export interface StreamPart {
  cursor: string;
  event?: StreamedEvent;
}

interface StreamOptions {
  access: ApiAccess;
  /** Filters and start. */
  query: Record<string, string>;
  /** Where to continue; it wins over the start in the query. */
  cursor: string | undefined;
  signal: AbortSignal;
  say(line: string): void;
}

const FIRST_DELAY_MS = 1 * SECOND;
const MAX_DELAY_MS = 30 * SECOND;

/** The API sends a ping every 15 s: a connection that is silent for longer is dead. */
const MAX_SILENCE_MS = 45 * SECOND;

/**
 * Yields the parts of the event stream until the signal aborts. Reads only as fast as the caller takes them.
 *
 * - connecting: the request is sent, with the last cursor.
 * - reading: parts come; ends when the connection breaks or the API ends it, as it does every 15 minutes.
 * - waiting: until the next connection, longer after each failure, and as long as Retry-After says.
 *
 * Throws a CommandError when the API refuses the request for good.
 */
export async function* followStream(options: StreamOptions): AsyncGenerator<StreamPart> {
  const { signal, say } = options;
  let cursor = options.cursor;
  let firstDelayMs = FIRST_DELAY_MS;
  let delayMs = firstDelayMs;
  while (!signal.aborted) {
    let retryAfterMs = 0;
    try {
      const response = await connect(options, cursor);
      if (response.ok) {
        checkMediaType(response);
        for await (const { id, event, data, retryMs } of readBlocks(response)) {
          firstDelayMs = retryMs ?? firstDelayMs;
          delayMs = firstDelayMs;
          cursor = id ?? cursor;
          const isEvent = event === "event" && data !== "";
          if (cursor === undefined || (id === undefined && !isEvent)) continue;
          yield { cursor, ...(isEvent ? { event: readEvent(data) } : {}) };
        }
      } else {
        retryAfterMs = await waitTimeOf(options, response, cursor);
        say(`the API answers ${response.status}: connecting again`);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CommandError) throw error;
      say(`no connection to the API (${faultText(error)}): connecting again`);
    }
    await pause(Math.max(jittered(delayMs), retryAfterMs), signal);
    delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
  }
}

function connect({ access, query, signal }: StreamOptions, cursor: string | undefined): Promise<Response> {
  const search = new URLSearchParams(query);
  return requestApi(access, `/api/events/stream${search.size === 0 ? "" : `?${search}`}`, {
    headers: {
      accept: "text/event-stream",
      ...(cursor === undefined ? {} : { "last-event-id": cursor }),
    },
    signal,
  });
}

function checkMediaType({ headers }: Response): void {
  const type = headers.get("content-type") ?? "nothing";
  if (!type.startsWith("text/event-stream"))
    throw new CommandError(`HERALD_URL answers with ${type} instead of an event stream: check the address`);
}

const TOO_MANY_REQUESTS = 429;
const REQUEST_TIMEOUT = 408;

/** Returns the time to wait before the next connection; throws when none can succeed. */
async function waitTimeOf({ access }: StreamOptions, response: Response, cursor?: string): Promise<number> {
  const { status, headers } = response;
  if (status >= 500 || status === TOO_MANY_REQUESTS || status === REQUEST_TIMEOUT) {
    await response.body?.cancel();
    const seconds = Number(headers.get("retry-after") ?? 0);
    return Number.isFinite(seconds) ? seconds * SECOND : 0;
  }
  const refusal = await refusalOf(access, response);
  if (status === 400 && cursor !== undefined) throw new CommandError(`${refusal.message}\n${CURSOR_ADVICE}`);
  throw refusal;
}

const CURSOR_ADVICE =
  "The position at which the last run stopped cannot be used any more: start without --resume, and with --since to get the events that are still kept";

/** A block of the stream, ended by an empty line. */
interface Block {
  id?: string;
  event: string;
  data: string;
  retryMs?: number;
}

async function* readBlocks({ body }: Response): AsyncGenerator<Block> {
  let fields: [string, string][] = [];
  for await (const line of readLines(body as ReadableStream<Uint8Array>)) {
    if (line === "" && fields.length > 0) {
      yield toBlock(fields);
      fields = [];
    }
    const colon = line.indexOf(":");
    // A line that begins with a colon is a comment.
    if (colon > 0) fields.push([line.slice(0, colon), withoutFirstSpace(line.slice(colon + 1))]);
  }
}

const withoutFirstSpace = (value: string) => (value.startsWith(" ") ? value.slice(1) : value);

function toBlock(fields: readonly [string, string][]): Block {
  const valuesOf = (wanted: string) => fields.filter(([name]) => name === wanted).map(([, value]) => value);
  const [id, retry] = [valuesOf("id").at(-1), valuesOf("retry").at(-1)];
  return {
    ...(id === undefined ? {} : { id }),
    event: valuesOf("event").at(-1) ?? "message",
    data: valuesOf("data").join("\n"),
    ...(/^\d{1,6}$/.test(retry ?? "") ? { retryMs: Number(retry) } : {}),
  };
}

/** Reads the next bytes only when the lines before were taken. An incomplete last line is dropped. */
async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const onSilence = () => {
    throw new Error(`silent for ${MAX_SILENCE_MS / SECOND} s`);
  };
  let pieces: string[] = [];
  try {
    for (;;) {
      const { done, value } = await withTimeout(MAX_SILENCE_MS, reader.read(), onSilence);
      if (done) return;
      const [first = "", ...lines] = decoder.decode(value, { stream: true }).split("\n");
      pieces.push(first);
      for (const line of lines) {
        yield withoutCarriageReturn(pieces.join(""));
        pieces = [line];
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

const withoutCarriageReturn = (line: string) => (line.endsWith("\r") ? line.slice(0, -1) : line);

/** An event that cannot be read ends the run: skipping it would lose it. */
function readEvent(data: string): StreamedEvent {
  const item = openItem(data);
  const payload = item.field("payload");
  const textOf = (value: unknown) => (typeof value === "string" ? value : null);
  const eventId = textOf(item.parseField("event_id"));
  const type = textOf(item.parseField("type"));
  if (payload === undefined || eventId === null || type === null)
    throw new CommandError("the API sent an event without event_id, type or payload");
  return {
    eventId,
    type,
    key: textOf(item.parseField("key")),
    path: textOf(item.parseField("path")),
    isReplay: item.parseField("replay") === true,
    channelId: textOf(payload.parseField("channel_id")),
    payload: payload.text,
  };
}

function openItem(data: string): JsonSource {
  try {
    return openJson(data);
  } catch {
    throw new CommandError("the API sent an event that is not JSON");
  }
}
