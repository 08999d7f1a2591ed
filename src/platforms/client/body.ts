import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { stringifyJson } from "../../runtime/json/json.ts";

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
