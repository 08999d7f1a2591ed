import { Agent, type Dispatcher } from "undici";
import { DELIVERY_DEADLINE_MS } from "../runtime/deadlines.ts";
import { SECOND } from "../runtime/durations.ts";
import { EXCERPT_SOURCE_BYTES, excerptOf } from "./answer-excerpt.ts";
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
  /** delivered: a whole 2xx. refused: any other answer. failed: none, or not a whole one in time. */
  outcome: "delivered" | "refused" | "failed";
  statusCode: number | null;
  durationMs: number;
  /** A few stable words, for people and for comparing; null when delivered. */
  error: string | null;
  /** The beginning of the answer; null when it is empty. */
  excerpt: string | null;
  /** The answer's header as it came. */
  retryAfter: string | null;
}

export interface EventPoster {
  /** One attempt, and never more than one request. Aborting it is a failure with the error "aborted". */
  post(post: EventPost, signal?: AbortSignal): Promise<PostedEvent>;
  close(): Promise<void>;
}

export interface PosterParts {
  destinations: Destinations;
  resolver: Resolver;
  /** Milliseconds for the whole exchange, from the resolving of the name to the end of the answer. */
  deadline?: number;
  /** At most so many to one origin; further posts wait, within their deadline. */
  connections?: number;
}

const MAX_ANSWER_BYTES = 65_536;

export function createEventPoster(parts: PosterParts): EventPoster {
  const { destinations, resolver, deadline = DELIVERY_DEADLINE_MS, connections = 100 } = parts;
  const agent = new Agent({
    connections,
    connect: guardedConnector({ destinations, resolver, timeout: deadline }),
    // The deadline is over all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
    // A connection is checked when it is made, so none is kept for long, whatever the other end proposes.
    keepAliveMaxTimeout: 30 * SECOND,
  });
  return {
    async post(post, signal) {
      const began = performance.now();
      const received: ReceivedAnswer = { statusCode: null, retryAfter: null, firstBytes: Buffer.alloc(0) };
      const fault = await runWithDeadline({ deadline, signal }, (abortSignal) => {
        const url = new URL(post.url);
        const literal = ipLiteralOf(url);
        if (literal !== undefined && !destinations.isAllowed(literal, url.protocol as Scheme))
          throw new AddressNotAllowed();
        return sendRequest(agent, requestOf(url, post, abortSignal), received);
      });
      const excerpt = excerptOf(received.firstBytes, post.headers["x-webhook-token"]);
      const { statusCode, retryAfter } = received;
      const durationMs = Math.round(performance.now() - began);
      return { ...outcomeOf(statusCode, fault), statusCode, durationMs, excerpt, retryAfter };
    },
    close: () => agent.destroy(),
  };
}

/** Why it did not end well by itself; undefined when it did. What has not ended by then is given up. */
async function runWithDeadline(
  { deadline, signal }: { deadline: number; signal: AbortSignal | undefined },
  work: (cancellation: AbortSignal) => Promise<void>,
): Promise<string | undefined> {
  const cancellation = new AbortController();
  const stop = (reason: string) => () => cancellation.abort(new Error(reason));
  const [onDeadline, onAbort] = [stop("timeout"), stop("aborted")];
  // Raced, because undici looks at the signal only once it is connected.
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

/** What the other end has said so far. */
interface ReceivedAnswer {
  statusCode: number | null;
  retryAfter: string | null;
  firstBytes: Buffer;
}

/** `idempotent` off: undici never sends it a second time. Redirects are not followed, which is what undici does unasked. */
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
  body.on("error", () => {}); // heard by the loop, unless it has left by then
  received.statusCode = statusCode;
  received.retryAfter = [headers["retry-after"] ?? null].flat()[0] ?? null;
  let bytesRead = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytesRead += chunk.length;
    if (received.firstBytes.length < EXCERPT_SOURCE_BYTES)
      received.firstBytes = Buffer.concat([received.firstBytes, chunk]);
    if (bytesRead > MAX_ANSWER_BYTES) break; // ends the connection
  }
}

/** A status that is no success counts also when the rest of its answer never came. */
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
