import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { SECOND } from "../runtime/durations.ts";
import { stringifyJson, tryParseJson } from "../runtime/json/json.ts";
import { findExceededLimit, type JsonLimits } from "../runtime/json/json-limits.ts";

/**
 * Encodes the bodies of requests to the platforms, and reads the JSON of their answers and webhooks. The readers never throw:
 * platforms omit unset values and sometimes send a type they do not document.
 */

export type Fields = Readonly<Record<string, unknown>>;

/** A multipart form with one file. */
export interface FileForm {
  fields?: Fields;
  /** Name of the form field that holds the file. */
  field: string;
  filename: string;
  type: string;
  content: Uint8Array | AsyncIterable<Uint8Array>;
  /** In bytes. A stream without a size is sent without content-length. */
  size?: number | undefined;
}

export interface EncodedBody {
  headers: Record<string, string>;
  body: string | Readable;
}

/** Form and query values are text: lists, objects and booleans are encoded as JSON. */
const toFormText = (value: unknown): string =>
  typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "bigint"
      ? String(value)
      : stringifyJson(value);

/** Skips undefined fields. */
export const formEntries = (fields: Fields): [string, string][] =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, toFormText(value)]);

/** Encodes with encodeURIComponent: URLSearchParams takes up to 200 ms for half a megabyte of targeting. */
export const formBody = (fields: Fields): EncodedBody => ({
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: formEntries(fields)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("&"),
});

export const jsonBody = (value: unknown): EncodedBody => ({
  headers: { "content-type": "application/json" },
  body: stringifyJson(value),
});

/** Encodes multipart/form-data and streams the file, so that large files are never held in memory. */
export function multipartBody({ fields = {}, field, filename, type, content, size }: FileForm): EncodedBody {
  const boundary = `herald-${randomBytes(18).toString("hex")}`;
  const parts = formEntries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${escapeName(name)}"\r\n\r\n${value}\r\n`,
  );
  const head = Buffer.from(
    `${parts.join("")}--${boundary}\r\ncontent-disposition: form-data; name="${escapeName(field)}"; filename="${escapeName(filename)}"\r\ncontent-type: ${withoutLineBreaks(type)}\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const length = content instanceof Uint8Array ? content.byteLength : size;
  return {
    headers: {
      "content-type": `multipart/form-data; boundary=${boundary}`,
      ...(length === undefined ? {} : { "content-length": String(head.length + length + tail.length) }),
    },
    body: Readable.from(concatenate(head, limitLength(content, length), tail), { objectMode: false }),
  };
}

async function* concatenate(head: Buffer, content: AsyncIterable<Uint8Array>, tail: Buffer) {
  yield head;
  yield* content;
  yield tail;
}

/** Fails when the content exceeds its declared length: the excess bytes would be parsed as another request. */
async function* limitLength(content: FileForm["content"], length = Number.POSITIVE_INFINITY) {
  let remaining = length;
  for await (const chunk of content instanceof Uint8Array ? chunksOf(content) : content) {
    remaining -= chunk.byteLength;
    if (remaining < 0) throw new Error("the file is longer than its declared size");
    yield chunk;
  }
}

/** Written at once; a longer write would delay other requests. */
const MAX_WRITE_BYTES = 131_072;

function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += MAX_WRITE_BYTES)
    yield bytes.subarray(start, start + MAX_WRITE_BYTES);
}

/** Escapes quotes and line breaks in names the way browsers do. */
const escapeName = (name: string) =>
  name.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");

const withoutLineBreaks = (type: string) => type.replaceAll(/[\r\n]/g, "");

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const asObject = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** Undefined for an object without fields and for any other value. */
export const nonEmptyObject = (value: unknown): Record<string, unknown> | undefined =>
  isObject(value) && Object.keys(value).length > 0 ? value : undefined;

/** True for a list with at least one object and nothing else. */
export const isListOfObjects = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isObject);

/** 500 insights rows have at most some hundred thousand values; ids have 20 digits. */
const ANSWER_LIMITS: JsonLimits = { maxDepth: 100, maxValues: 500_000, maxNumberChars: 40 };

/** False for a text that would take long or much memory to parse. */
const isParsable = (text: string): boolean =>
  findExceededLimit(Buffer.from(text), ANSWER_LIMITS) === undefined;

/** Parses the text of an answer; undefined when it is not JSON or exceeds the limits. */
export const parseAnswer = (text: string): unknown => (isParsable(text) ? tryParseJson(text) : undefined);

/** Parses a JSON object; returns an empty object for anything else and for one that exceeds the limits. */
export function parseObject(text: string): Record<string, unknown> {
  try {
    return isParsable(text) ? asObject(JSON.parse(text)) : {};
  } catch {
    return {};
  }
}

/** Reads an object that some answers contain as JSON text. */
export const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === "string" ? parseObject(value) : asObject(value);

export const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Returns strings and numbers as text, because ids come as both. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "bigint"
      ? String(value)
      : undefined;

/** Returns the texts in a list and skips other items. */
export const textsOf = (value: unknown): string[] =>
  asList(value)
    .map(textOf)
    .filter((text) => text !== undefined);

export function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** Timestamps outside this range are errors and may exceed what Postgres can store. */
const [MIN_EPOCH_SECONDS, MAX_EPOCH_SECONDS] = [0, Date.UTC(9999, 0) / SECOND];

/** Converts seconds since 1970; undefined when the value is not a valid time. */
export function dateOf(seconds: unknown): Date | undefined {
  const number = numberOf(seconds);
  const isTime = number !== undefined && number >= MIN_EPOCH_SECONDS && number <= MAX_EPOCH_SECONDS;
  return isTime ? new Date(number * SECOND) : undefined;
}

/** Looks up an own property only, because a platform may send a name such as `constructor`. */
export const lookUp = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** Removes undefined and null fields. */
export function omitNullish(fields: Fields): Record<string, unknown> {
  // A loop, because it runs several times for each update of a webhook; entries of pairs take three times as long.
  const kept: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value === undefined || value === null) continue;
    if (name === "__proto__") return omitNullishEntries(fields);
    kept[name] = value;
  }
  return kept;
}

/** Also creates a field named `__proto__`, to which nothing can be assigned. */
const omitNullishEntries = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));

/** Removes the named fields. */
export const omitFields = (fields: Fields, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
