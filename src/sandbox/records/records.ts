import type { IncomingHttpHeaders } from "node:http";
import type { CallFault } from "../faults/fault.ts";
import { shownBody } from "./shown-body.ts";

/** A request as it came in. */
export interface Arrival {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** What became of it; filled in when that is known. */
export interface Fate {
  /** What befell it on demand. */
  fault?: CallFault;
  /** The fault came first, so nothing was done. */
  acted?: false;
  /** Of the answer, if there was one. */
  status?: number;
}

export interface Records {
  add(arrival: Arrival): Fate;
  /** The newest first. `withRaw` adds the text that a signature was made of. */
  shown(options?: { withRaw?: boolean }): Promise<object[]>;
  clear(): void;
}

interface Kept extends Omit<Arrival, "body"> {
  at: string;
  bytes: number;
  /** Undefined for one too large to be kept. */
  body: Buffer | undefined;
  fate: Fate;
}

const MEBIBYTE = 1024 * 1024;
const BOUNDS = { records: 1_000, body: 1 * MEBIBYTE, bodies: 32 * MEBIBYTE };

/** The last requests, as many as a developer looks at and a machine can bear. */
export function createRecords(bounds = BOUNDS): Records {
  let kept: Kept[] = [];
  let size = 0;
  const forgetOldest = () => {
    size -= kept.shift()?.body?.length ?? 0;
  };
  return {
    add({ body, ...arrival }) {
      const fate: Fate = {};
      const small = body.length <= bounds.body ? body : undefined;
      kept.push({ ...arrival, at: new Date().toISOString(), bytes: body.length, body: small, fate });
      size += small?.length ?? 0;
      while (kept.length > bounds.records || size > bounds.bodies) forgetOldest();
      return fate;
    },
    shown: ({ withRaw = false } = {}) =>
      Promise.all([...kept].reverse().map((record) => toShown(record, withRaw))),
    clear() {
      kept = [];
      size = 0;
    },
  };
}

/** Tokens and proofs stand in it as they came: whoever can ask for it has sent them. */
async function toShown({ at, method, url, headers, bytes, body, fate }: Kept, withRaw: boolean) {
  return {
    at,
    method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers,
    body: body ? await shownBody(headers["content-type"] ?? "", body) : { bytes },
    ...(withRaw && body ? { raw: body.toString("utf8") } : {}),
    ...fate,
  };
}
