import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { MINUTE } from "../runtime/durations.ts";
import { API_VERSION } from "../schema/enumerations.ts";

export const JSON_TYPE = "application/json; charset=utf-8";

/** Browsers use https for this service for a year. */
const STRICT_TRANSPORT_SECURITY = "max-age=31536000";

/** The headers that every response carries. */
export function commonHeaders(requestId: string, isHttps: boolean): Record<string, string | number> {
  const headers: Record<string, string> = {
    "X-Request-Id": requestId,
    "X-Api-Version": API_VERSION,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
  };
  if (isHttps) headers["Strict-Transport-Security"] = STRICT_TRANSPORT_SECURITY;
  return headers;
}

/** A reply that is not JSON: the handler returns its text or bytes. */
export interface MediaReply {
  mediaType: string;
}

/** A reply that is streamed with its own Content-Type; `mediaType` is for the documentation. */
export interface StreamReply extends MediaReply {
  stream: true;
}

/**
 * A streamed reply. If the source fails, the caller's connection is cut; if the caller disconnects, the
 * source is destroyed.
 */
export interface OutgoingFile {
  type: string;
  size?: number;
  body: Readable;
  /** Set for a stream that its caller may take slowly: it is cut off when the caller takes nothing for this time. */
  maxPauseMs?: number;
}

export const CSV_TYPE = "text/csv; charset=utf-8; header=present";

/** True when an Accept header prefers CSV to JSON. */
export const prefersCsv = (accept: string | undefined): boolean =>
  preferredType(accept, ["text/csv", "application/json"]) === "text/csv";

/** CSV text that is streamed instead of the JSON reply, on a route with `csv`. */
export class CsvReply {
  readonly type = CSV_TYPE;
  readonly body: Readable;

  constructor(text: AsyncIterable<string>) {
    this.body = Readable.from(text);
  }
}

export const EVENT_STREAM_TYPE = "text/event-stream; charset=utf-8";

/** True when an Accept header names server-sent events. */
export const acceptsEventStream = (accept: string | undefined): boolean =>
  (accept ?? "").split(",").some((range) => {
    const { type, quality } = readRange(range);
    return type === "text/event-stream" && quality > 0;
  });

/** Server-sent events instead of the JSON reply, on a route with `eventStream`. `onClose` runs when the stream has ended. */
export class EventStreamReply {
  readonly type = EVENT_STREAM_TYPE;
  readonly body: Readable;
  readonly maxPauseMs = 1 * MINUTE;

  constructor(blocks: AsyncIterable<string>, onClose: () => void) {
    this.body = Readable.from(blocks, { highWaterMark: 1 }).once("close", onClose);
  }
}

/** A reply as an operation stores it. */
export interface StoredReply {
  status: number;
  headers: Record<string, string>;
  body: string | undefined;
}

/** The first reply to an operation, returned again. */
export class ReplayedReply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
  readonly type = JSON_TYPE;

  constructor({ status, headers, body }: StoredReply) {
    this.status = status;
    this.headers = { ...headers, "Idempotent-Replay": "true" };
    this.body = body;
  }
}

/** A response that is ready to be written. */
export interface OutgoingReply {
  response: ServerResponse;
  headers: Record<string, string | number>;
  /** True for a HEAD request: headers without a body. */
  headOnly: boolean;
}

/** Why a streamed response was cut off: the caller disconnected or the source failed. */
export type StreamFailure = "caller_gone" | "source_broken";

/** `pipeline` adds seven to ours: with Node's limit of ten, each stream would print a warning. */
const MAX_CLOSE_LISTENERS = 20;

/**
 * Streams a file with backpressure. On failure the connection is cut, because a normal end would look
 * complete. The source's error is dropped: it may quote the request.
 */
export async function streamFile(
  { response, headers, headOnly }: OutgoingReply,
  { status, file: { type, size, body } }: { status: number; file: OutgoingFile },
): Promise<StreamFailure | undefined> {
  response.writeHead(status, {
    ...headers,
    "Content-Type": isMediaType(type) ? type : "application/octet-stream",
    ...(size === undefined ? {} : { "Content-Length": size }),
  });
  let failure: StreamFailure = "caller_gone";
  body.once("error", () => {
    if (!response.destroyed) failure = "source_broken";
  });
  if (headOnly) {
    body.destroy();
    response.end();
    return undefined;
  }
  response.setMaxListeners(MAX_CLOSE_LISTENERS);
  return pipeline(body, response).then(
    () => undefined,
    () => failure,
  );
}

interface Weight {
  quality: number;
  /** 2 for the exact type, 1 for a range of its subtypes, 0 for any type. */
  specificity: number;
}

const NOT_ACCEPTABLE: Weight = { quality: 0, specificity: 0 };

/**
 * Returns the type that an Accept header prefers, undefined when it has no preference. At equal quality the
 * more specific range wins: API clients send `application/json, *\/*`.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  types: readonly [T, T],
): T | undefined {
  const ranges = accept?.trim() ? accept.split(",").map(readRange) : [];
  const [one, other] = types.map((type) => weightOf(type, ranges)) as [Weight, Weight];
  const lead = one.quality - other.quality || one.specificity - other.specificity;
  return lead === 0 ? undefined : types[lead > 0 ? 0 : 1];
}

interface Range {
  type: string;
  quality: number;
}

/** Reads one range of an Accept or Accept-Encoding header, such as `gzip;q=0.5`. */
export function readRange(text: string): Range {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  const quality = given === undefined ? 1 : Number.parseFloat(given);
  return { type, quality: Number.isFinite(quality) ? quality : 0 };
}

/** Returns the weight of the most specific range that matches the type. */
function weightOf(type: string, ranges: readonly Range[]): Weight {
  const names = ["*/*", `${type.split("/")[0]}/*`, type];
  const matching = ranges
    .map((range) => ({ quality: range.quality, specificity: names.indexOf(range.type) }))
    .filter(({ specificity }) => specificity >= 0);
  const [mostSpecific = NOT_ACCEPTABLE] = matching.sort((one, other) => other.specificity - one.specificity);
  return mostSpecific.quality > 0 ? mostSpecific : NOT_ACCEPTABLE;
}

/**
 * True for `type/subtype` with optional parameters, in characters that are safe in a header or form field.
 */
export const isMediaType = (text: string): boolean =>
  /^[a-z0-9][\w!#$&^.+-]*\/[a-z0-9][\w!#$&^.+-]*\s*(;[\t\x20-\x7e]*)?$/i.test(text);
