import type { Client } from "./client.ts";
import { HeraldError } from "./errors.ts";
import { EventsOperations } from "./generated/operations.ts";
import type { Event, StreamItemDto } from "./generated/types.ts";
import { fullJitter } from "./retries.ts";
import { sleep } from "./timers.ts";

/** Which events, and where to begin: at `cursor`, at `since`, or now. */
export interface StreamQuery {
  channel_id?: string | undefined;
  cursor?: string | undefined;
  since?: string | undefined;
  types?: readonly Event["type"][] | undefined;
  keys?: readonly NonNullable<StreamItemDto["key"]>[] | undefined;
}

export interface StreamOptions {
  /** Ends the stream without an error. */
  signal?: AbortSignal | undefined;
  /** Called when the connection broke; the stream connects again by itself. */
  onDisconnect?: ((reason: unknown) => void) | undefined;
}

/** An event of the stream. Store `cursor` once the event is handled, to go on after it. */
export interface StreamedEvent extends StreamItemDto {
  cursor: string;
}

/** What happened, whether your backend has received it, and how to send it again. */
export class Events extends EventsOperations {
  /**
   * Every event of the client as it is recorded, until the caller leaves the loop or the signal aborts:
   *
   * ```js
   * for await (const { payload, cursor } of herald.events.stream({ types: ["message.received"] })) ...
   * ```
   *
   * A connection that breaks is opened again at the last cursor, and repeats are left out. Rejects when the first
   * connection fails after `maxRetries`, and when the API refuses the request, for example because the cursor is too old.
   */
  stream(
    query: StreamQuery = {},
    options: StreamOptions = {},
  ): AsyncGenerator<StreamedEvent, void, undefined> {
    return readEventStream(this.client, query, options);
  }
}

const MAX_DELAY_MS = 30_000;

/** The API sends a ping every 15 s: a connection that is silent for longer is dead. */
const MAX_SILENCE_MS = 45_000;

/** Repeats come soon after the first, so that the last ids are enough to recognise them. */
const REMEMBERED_EVENTS = 10_000;

/**
 * - connecting: the first time with the client's retries; later until it succeeds or the API refuses.
 * - reading: events come; ends when the connection breaks, or when the API ends it, as it does every 15 minutes.
 * - waiting: until the next connection, longer after each failure.
 */
async function* readEventStream(
  client: Client,
  query: StreamQuery,
  { signal, onDisconnect }: StreamOptions,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const isRepeat = createRepeatFilter();
  let { cursor } = query;
  let wasConnected = false;
  let failures = 0;
  while (!signal?.aborted) {
    const connection = new AbortController();
    const close = () => connection.abort();
    signal?.addEventListener("abort", close, { once: true });
    let blocks = 0;
    let reason: unknown;
    try {
      const body = await connect(client, { ...query, cursor }, { wasConnected, signal: connection.signal });
      wasConnected = true;
      for await (const { id, item } of readBlocks(body)) {
        blocks += 1;
        cursor = id ?? cursor;
        if (item && cursor !== undefined && !isRepeat(item)) yield { ...item, cursor };
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!wasConnected || (error instanceof HeraldError && !error.retryable)) throw error;
      reason = error;
    } finally {
      signal?.removeEventListener("abort", close);
      // Also when the caller leaves the loop.
      close();
    }
    // The first block says only where the stream begins.
    failures = blocks > 1 ? 1 : failures + 1;
    onDisconnect?.(reason);
    await sleep(delayOf(reason, failures), signal).catch(() => {});
  }
}

interface ConnectOptions {
  wasConnected: boolean;
  signal: AbortSignal;
}

async function connect(
  client: Client,
  { cursor, since, ...filters }: StreamQuery,
  { wasConnected, signal }: ConnectOptions,
): Promise<ReadableStream<Uint8Array>> {
  const response = await client.open(
    { accept: "text/event-stream" },
    {
      operation: "streamEvents",
      method: "GET",
      path: "/api/events/stream",
      retries: "repeatable",
      query: { ...filters, ...(cursor === undefined ? { since } : { cursor }) },
      options: { signal, maxRetries: wasConnected ? 0 : undefined },
    },
  );
  const type = response.headers.get("content-type") ?? "nothing";
  if (response.body && type.startsWith("text/event-stream")) return response.body;
  await response.body?.cancel();
  throw unexpectedStream(`the answer is ${type} instead of an event stream: check baseUrl`);
}

const unexpectedStream = (message: string): HeraldError =>
  new HeraldError({ code: "unexpected_response", operation: "streamEvents", message });

const delayOf = (reason: unknown, failures: number): number =>
  Math.max(
    fullJitter(failures, MAX_DELAY_MS),
    reason instanceof HeraldError ? (reason.retryAfterMs ?? 0) : 0,
  );

/** Returns whether an event was already yielded. A replay is one that the caller asked for. */
function createRepeatFilter(): (item: StreamItemDto) => boolean {
  const known = new Set<string>();
  return ({ event_id, replay }) => {
    if (replay) return false;
    if (known.has(event_id)) return true;
    known.add(event_id);
    const [oldest] = known;
    if (oldest !== undefined && known.size > REMEMBERED_EVENTS) known.delete(oldest);
    return false;
  };
}

/** A position in the stream, and the event at it; a ping has only a position or nothing. */
interface Block {
  id?: string;
  item?: StreamItemDto;
}

/** Yields the blocks of the stream, each ended by an empty line. An incomplete last block is dropped. */
async function* readBlocks(body: ReadableStream<Uint8Array>): AsyncGenerator<Block, void, undefined> {
  let lines: string[] = [];
  for await (const line of readLines(body)) {
    if (line !== "") lines.push(line);
    else {
      yield toBlock(lines);
      lines = [];
    }
  }
}

function toBlock(lines: readonly string[]): Block {
  const valuesOf = (name: string) =>
    lines
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).replace(/^ /, ""));
  const [id] = valuesOf("id");
  const data = valuesOf("data").join("\n");
  return {
    ...(id === undefined ? {} : { id }),
    ...(data === "" ? {} : { item: readItem(data) }),
  };
}

/** Ends the stream at an event that is not JSON: to skip it would lose it. The error of the parser quotes the event. */
function readItem(data: string): StreamItemDto {
  try {
    return JSON.parse(data);
  } catch {
    throw unexpectedStream("the API sent an event that is not JSON");
  }
}

/** Reads the next bytes only when the lines before were taken. */
async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader.read());
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Rejects when the API sends nothing, not even a ping, for too long. */
async function withinSilence<T>(read: Promise<T>): Promise<T> {
  let timeout: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timeout = setTimeout(() => reject(new Error(`silent for ${MAX_SILENCE_MS} ms`)), MAX_SILENCE_MS);
  });
  try {
    return await Promise.race([read, silence]);
  } finally {
    clearTimeout(timeout);
  }
}
