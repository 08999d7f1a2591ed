import type { IncomingHttpHeaders } from "node:http";
import type { CallFault } from "../faults/fault.ts";
import { describeBody } from "./describe-body.ts";

/** A request as it came in. */
export interface ReceivedRequest {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** What became of it; filled in when that is known. */
export interface RecordedOutcome {
  /** What befell it on demand. */
  fault?: CallFault;
  /** The fault came first, so nothing was done. */
  acted?: false;
  /** Of the answer, if there was one. */
  status?: number;
}

export interface Records {
  add(request: ReceivedRequest): RecordedOutcome;
  /** The newest first. `withRaw` adds the text that a signature was made of. */
  list(options?: { withRaw?: boolean }): Promise<object[]>;
  clear(): void;
}

interface StoredRecord extends Omit<ReceivedRequest, "body"> {
  at: string;
  bytes: number;
  /** Undefined for one too large to be kept. */
  body: Buffer | undefined;
  outcome: RecordedOutcome;
}

const MEBIBYTE = 1024 * 1024;
const DEFAULT_LIMITS = { maxRecords: 1_000, maxBodyBytes: 1 * MEBIBYTE, maxTotalBytes: 32 * MEBIBYTE };

/** The last requests, as many as a developer looks at and a machine can bear. */
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

/** Tokens and proofs stand in it as they came: whoever can ask for it has sent them. */
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
