import { Agent, type Dispatcher } from "undici";
import { DELIVERY_DEADLINE_MS } from "../runtime/deadlines.ts";
import { SECOND } from "../runtime/durations.ts";
import type { UnitOfWork } from "../runtime/watchdog/work-tracker.ts";
import { EXCERPT_SOURCE_BYTES, excerptOf } from "./answer-excerpt.ts";
import { AnswerTooLarge } from "./answer-limit.ts";
import { type Destinations, ipLiteralOf, type Scheme } from "./destinations.ts";
import { AddressNotAllowed, guardedConnector } from "./guarded-connector.ts";
import { toErrorText } from "./post-errors.ts";
import type { Resolver } from "./resolver.ts";

export interface EventPost {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** The payload, sent byte for byte. */
  body: string;
}

export interface PostedEvent {
  /** delivered: a complete 2xx. refused: any other status. failed: no answer, or an incomplete 2xx. */
  outcome: "delivered" | "refused" | "failed";
  statusCode: number | null;
  durationMs: number;
  /** A short stable text, for people and for comparisons; null when delivered. */
  error: string | null;
  /** The beginning of the answer's body; null when it is empty or cannot be searched for the token. */
  excerpt: string | null;
  /** The Retry-After header, unparsed. */
  retryAfter: string | null;
}

export interface PostControl {
  /** Aborts the attempt, which then fails with the error "aborted". */
  signal?: AbortSignal;
  /** Resumed when the answer has arrived. */
  unit?: UnitOfWork;
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

const MAX_ANSWER_BYTES = 65_536;

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
  return {
    async post(post, { signal, unit } = {}) {
      const began = performance.now();
      const received: ReceivedAnswer = { statusCode: null, retryAfter: null, firstBytes: Buffer.alloc(0) };
      const fault = await runWithDeadline({ deadline, signal }, (abortSignal) => {
        const url = new URL(post.url);
        const literal = ipLiteralOf(url);
        if (literal !== undefined && !destinations.isAllowed(literal, url.protocol as Scheme))
          throw new AddressNotAllowed();
        return sendRequest(agent, requestOf(url, post, abortSignal), received);
      });
      unit?.resume();
      const excerpt = excerptOf(received.firstBytes, post.headers["x-webhook-token"]);
      const { statusCode, retryAfter } = received;
      const durationMs = Math.round(performance.now() - began);
      return { ...outcomeOf(statusCode, fault), statusCode, durationMs, excerpt, retryAfter };
    },
    close: () => agent.destroy(),
  };
}

/** Returns an error text when the work fails, times out or is aborted; undefined when it succeeds. */
async function runWithDeadline(
  { deadline, signal }: { deadline: number; signal: AbortSignal | undefined },
  work: (cancellation: AbortSignal) => Promise<void>,
): Promise<string | undefined> {
  const cancellation = new AbortController();
  const stop = (reason: string) => () => cancellation.abort(new Error(reason));
  const [onDeadline, onAbort] = [stop("timeout"), stop("aborted")];
  // Race the signal, because undici checks it only once it is connected.
  const cancelled = new Promise<string>((resolve) => {
    cancellation.signal.addEventListener("abort", () => resolve(cancellation.signal.reason.message));
  });
  const timer = setTimeout(onDeadline, deadline);
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted) onAbort();
  try {
    const completed = (async () => work(cancellation.signal))().then(() => undefined, toErrorText);
    return await Promise.race([cancelled, completed]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

/** The part of the answer received so far. */
interface ReceivedAnswer {
  statusCode: number | null;
  retryAfter: string | null;
  firstBytes: Buffer;
}

/** `idempotent: false` keeps undici from repeating the request. undici follows no redirects by default. */
const requestOf = (
  url: URL,
  { headers, body }: EventPost,
  signal: AbortSignal,
): Dispatcher.RequestOptions => ({
  origin: url.origin,
  path: url.pathname,
  method: "POST",
  headers: { ...headers },
  body,
  signal,
  idempotent: false,
});

async function sendRequest(
  agent: Agent,
  request: Dispatcher.RequestOptions,
  received: ReceivedAnswer,
): Promise<void> {
  const { statusCode, headers, body } = await agent.request(request);
  body.on("error", () => {}); // the loop throws errors; this catches those after its end
  received.statusCode = statusCode;
  received.retryAfter = [headers["retry-after"] ?? null].flat()[0] ?? null;
  try {
    await readBody(body, received);
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error; // a long answer counts like one that `readBody` stopped reading
  }
}

async function readBody(body: AsyncIterable<Buffer>, received: ReceivedAnswer): Promise<void> {
  let bytesRead = 0;
  for await (const chunk of body) {
    bytesRead += chunk.length;
    if (received.firstBytes.length < EXCERPT_SOURCE_BYTES)
      received.firstBytes = Buffer.concat([received.firstBytes, chunk]);
    if (bytesRead > MAX_ANSWER_BYTES) break; // closes the connection
  }
}

/** A status outside 2xx counts even when the rest of the answer never came. */
function outcomeOf(
  statusCode: number | null,
  fault: string | undefined,
): Pick<PostedEvent, "outcome" | "error"> {
  if (statusCode !== null && (statusCode < 200 || statusCode > 299))
    return {
      outcome: "refused",
      error: statusCode >= 300 && statusCode < 400 ? "redirect" : `HTTP ${statusCode}`,
    };
  return fault === undefined ? { outcome: "delivered", error: null } : { outcome: "failed", error: fault };
}
