import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import type { CallFault } from "../faults.ts";
import { fromJson } from "../graph/json.ts";
import { type Form, readForm } from "../graph/params.ts";

export interface ReceivedRequest {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** The result of a recorded request; filled in after it was answered. */
export interface RecordedOutcome {
  /** The injected fault that the request met. */
  fault?: CallFault;
  /** Set when the fault prevented the call from being executed. */
  acted?: false;
  /** Status of the reply; absent when the connection was dropped. */
  status?: number;
}

export interface Records {
  add(request: ReceivedRequest): RecordedOutcome;
  /** Newest first. `withRaw` adds the raw body, which signatures are computed from. */
  list(options?: { withRaw?: boolean }): Promise<object[]>;
  clear(): void;
}

interface StoredRecord extends Omit<ReceivedRequest, "body"> {
  at: string;
  bytes: number;
  /** Undefined for a body that exceeds the limit. */
  body: Buffer | undefined;
  outcome: RecordedOutcome;
}

const MEBIBYTE = 1024 * 1024;
const DEFAULT_LIMITS = { maxRecords: 1_000, maxBodyBytes: 1 * MEBIBYTE, maxTotalBytes: 32 * MEBIBYTE };

/** Keeps the most recent requests in memory. The oldest are evicted beyond the limits on count and bytes. */
export function createRecords(limits = DEFAULT_LIMITS): Records {
  let records: StoredRecord[] = [];
  let totalBytes = 0;
  const evictOldest = () => {
    totalBytes -= records.shift()?.body?.length ?? 0;
  };
  return {
    add({ body, ...request }) {
      const outcome: RecordedOutcome = {};
      const storedBody = body.length <= limits.maxBodyBytes ? body : undefined;
      records.push({
        ...request,
        at: new Date().toISOString(),
        bytes: body.length,
        body: storedBody,
        outcome,
      });
      totalBytes += storedBody?.length ?? 0;
      while (records.length > limits.maxRecords || totalBytes > limits.maxTotalBytes) evictOldest();
      return outcome;
    },
    list: ({ withRaw = false } = {}) =>
      Promise.all([...records].reverse().map((record) => describeRecord(record, withRaw))),
    clear() {
      records = [];
      totalBytes = 0;
    },
  };
}

/** Includes tokens and proofs unmasked: the sandbox runs on loopback and holds no real secrets. */
async function describeRecord(
  { at, method, url, headers, bytes, body, outcome }: StoredRecord,
  withRaw: boolean,
) {
  return {
    at,
    method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers,
    body: body ? await describeBody(headers["content-type"] ?? "", body) : { bytes },
    ...(withRaw && body ? { raw: body.toString("utf8") } : {}),
    ...outcome,
  };
}

/** Makes a body readable: parses JSON and forms, keeps other text, reduces binary data to its size. */
async function describeBody(contentType: string, body: Buffer): Promise<unknown> {
  if (body.length === 0) return null;
  if (/^multipart\/|^application\/x-www-form-urlencoded/i.test(contentType))
    return readForm(contentType, body).then(describeForm, () => asText(body));
  return /json/i.test(contentType) ? asJson(body) : asText(body);
}

const describeForm = (form: Form): unknown =>
  Object.fromEntries(
    [...form].map(([name, part]) => [
      name,
      typeof part === "string" ? part : { filename: part.name, type: part.type, bytes: part.size },
    ]),
  );

function asJson(body: Buffer): unknown {
  try {
    return fromJson(body.toString("utf8"));
  } catch {
    return asText(body);
  }
}

const asText = (body: Buffer): unknown => (isUtf8(body) ? body.toString("utf8") : { bytes: body.length });
