import { LRUCache } from "lru-cache";
import { Agent } from "undici";
import { DELIVERY_DEADLINE_MS } from "../runtime/deadlines.ts";
import { SECOND } from "../runtime/durations.ts";
import { type HttpResult, sendRequest } from "../runtime/http/send-request.ts";
import type { TrackedWork } from "../runtime/watchdog.ts";
import type { DeliveryError } from "../schema/stored-errors.ts";
import { EXCERPT_SOURCE_BYTES, excerptOf } from "./answer-excerpt.ts";
import {
  AddressNotAllowed,
  AnswerTooLarge,
  type Destinations,
  guardedConnector,
  ipLiteralOf,
  type Resolver,
  type Scheme,
} from "./ssrf-guard.ts";

export interface EventPost {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** The payload, sent byte for byte. */
  body: string;
  /** The client's token, which is removed from the excerpt of the answer even when the request does not carry it. */
  token: string | undefined;
}

export interface PostedEvent {
  /** delivered: a complete 2xx. refused: any other status. failed: no answer, or an incomplete 2xx. */
  outcome: "delivered" | "refused" | "failed";
  statusCode: number | null;
  durationMs: number;
  /** A short stable text, for people and for comparisons; null when delivered. */
  error: DeliveryError | null;
  /** The beginning of the answer's body; null when it is empty or cannot be searched for the token. */
  excerpt: string | null;
  /** The Retry-After header, unparsed. */
  retryAfter: string | null;
}

export interface PostControl {
  /** Aborts the attempt, which then fails with the error "aborted". */
  signal?: AbortSignal;
  /** Resumed when the answer has arrived. */
  tracked?: TrackedWork;
}

export interface EventPoster {
  /** Makes one attempt with at most one request. */
  post(post: EventPost, control?: PostControl): Promise<PostedEvent>;
  close(): Promise<void>;
}

export interface PosterParts {
  destinations: Destinations;
  resolver: Resolver;
  /** Milliseconds for the whole attempt, from name resolution to the end of the answer. */
  deadline?: number;
  /** Maximum connections per origin; further posts wait within their deadline. */
  connections?: number;
}

export function createEventPoster(parts: PosterParts): EventPoster {
  const { destinations, resolver, deadline = DELIVERY_DEADLINE_MS, connections = 100 } = parts;
  const agent = new Agent({
    connections,
    connect: guardedConnector({ destinations, resolver, timeout: deadline }),
    // The deadline covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
    // The address is checked only on connect, so connections are short-lived regardless of the server's keep-alive.
    keepAliveMaxTimeout: 30 * SECOND,
  });
  const addresses = new LRUCache<string, Address>({ max: MAX_KNOWN_ADDRESSES });

  function addressOf(url: string): Address {
    const known = addresses.get(url) ?? parseAddress(url, destinations);
    addresses.set(url, known);
    return known;
  }

  return {
    async post({ url, headers, body, token }, { signal, tracked } = {}) {
      const began = performance.now();
      const { origin, path, isAllowed } = addressOf(url);
      // Not idempotent: otherwise undici would repeat it. undici follows no redirects by default.
      const request = { method: "POST", origin, path, headers, body, idempotent: false } as const;
      const result = isAllowed
        ? await sendRequest(agent, request, { ...ANSWER_LIMITS, deadline, signal })
        : { ...NOT_SENT, fault: new AddressNotAllowed() };
      tracked?.resume();
      return {
        ...outcomeOf(result),
        statusCode: result.status,
        durationMs: Math.round(performance.now() - began),
        excerpt: excerptOf(result.body, token),
        retryAfter: [result.headers["retry-after"] ?? null].flat()[0] ?? null,
      };
    },
    close: () => agent.destroy(),
  };
}

/** Parsing an address and checking it take longer than looking it up. */
const MAX_KNOWN_ADDRESSES = 1_000;
const ANSWER_LIMITS = { maxBytes: 65_536, keptBytes: EXCERPT_SOURCE_BYTES };
const NOT_SENT: HttpResult = { isSent: false, status: null, headers: {}, body: Buffer.alloc(0) };

interface Address {
  origin: string;
  path: string;
  /** False for an IP address that is not allowed; names are checked when they are resolved. */
  isAllowed: boolean;
}

function parseAddress(text: string, destinations: Destinations): Address {
  const url = new URL(text);
  const literal = ipLiteralOf(url);
  const isAllowed = literal === undefined || destinations.isAllowed(literal, url.protocol as Scheme);
  return { origin: url.origin, path: url.pathname, isAllowed };
}

/** A status outside 2xx counts even when the rest of the answer never came. */
function outcomeOf({ status, fault }: HttpResult): Pick<PostedEvent, "outcome" | "error"> {
  if (status !== null && (status < 200 || status > 299))
    return { outcome: "refused", error: status >= 300 && status < 400 ? "redirect" : `HTTP ${status}` };
  // The rest of a long answer does not matter.
  const isComplete =
    fault === undefined || fault === "too_large" || (fault instanceof AnswerTooLarge && status !== null);
  if (isComplete) return { outcome: "delivered", error: null };
  return { outcome: "failed", error: typeof fault === "string" ? fault : toErrorText(fault) };
}

/** Texts that tenants read, by error code; the first match applies. */
const ERROR_TEXTS: readonly [RegExp, DeliveryError][] = [
  [/^ADDRESS_NOT_ALLOWED$/, "address not allowed"],
  [/^ECONNREFUSED$/, "connection refused"],
  [/^(ENOTFOUND|EAI_\w+|ENODATA)$/, "host not found"],
  [/^(ETIMEDOUT|UND_ERR_\w*TIMEOUT)$/, "timeout"],
  [
    /^(ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/,
    "connection closed",
  ],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, "host not reachable"],
  [/CERT|^UNABLE_TO_VERIFY|^HOSTNAME_MISMATCH$/, "certificate not valid"],
  [/^(EPROTO$|ERR_SSL|ERR_TLS)/, "TLS failed"],
  [/^(HPE_|HTTPParserError|UND_ERR_HEADERS_OVERFLOW|ANSWER_TOO_LARGE)/, "not an HTTP answer"],
];

/** Returns a short stable text. The error's own message is not used, because it may reveal our network. */
export function toErrorText(error: unknown): DeliveryError {
  const code = codeOf(error) ?? "";
  return ERROR_TEXTS.find(([codes]) => codes.test(code))?.[1] ?? "connection failed";
}

interface ErrorLike {
  code?: unknown;
  name?: unknown;
  errors?: readonly unknown[];
  cause?: unknown;
}

/** Uses the first address's error when several failed. Errors of the HTTP parser have a name and no code. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code, name, errors, cause } = error as ErrorLike;
  return typeof code === "string" ? code : (codeOf(errors?.[0] ?? cause) ?? String(name));
}
