import { Agent } from "undici";
import { endOfTurn } from "../../runtime/async/end-of-turn.ts";
import { SECOND } from "../../runtime/durations.ts";
import { type HttpExchange, sendRequest } from "../../runtime/http/send-request.ts";
import { createShares, type Grant, ShareRefused, type Shares } from "../../runtime/shares.ts";
import {
  type Exchange,
  type Exchanges,
  type HttpRequest,
  MAX_ANSWER_BYTES,
  NOT_SENT_CODES,
  type NoAnswer,
  type NoSocket,
  type OpenExchange,
} from "./call.ts";
import { createStreamedExchanges } from "./streamed-exchange.ts";

const MAX_SOCKETS_PER_HOST = 512;

/**
 * The sockets to a host are divided between clients: one has at most a quarter. Further calls wait here within their
 * deadline, never in the queue of an agent, which would serve a client with many calls before the others.
 */
export function createExchanges(maxSockets = MAX_SOCKETS_PER_HOST): Exchanges {
  const [buffered, streamed] = [createBufferedExchanges(maxSockets), createStreamedExchanges(maxSockets)];
  const takeSocket = createSocketShares(maxSockets);
  return {
    async run(request) {
      const taken = await takeSocket(request);
      if (!taken) return NO_SOCKET;
      const started = { ...request, deadline: taken.deadline };
      try {
        return await (isBuffered(started) ? buffered.run(started) : streamed.run(started));
      } finally {
        taken.grant.release();
      }
    },
    async open(request) {
      const taken = await takeSocket(request);
      if (!taken) return NO_SOCKET;
      const opened = await streamed.open({ ...request, deadline: taken.deadline });
      releaseWhenClosed(taken.grant, opened);
      return opened;
    },
    close() {
      buffered.close();
      streamed.close();
    },
  };
}

const NO_SOCKET: NoSocket = { outcome: "no_socket" };

interface TakenSocket {
  grant: Grant;
  /** What remains of the request's deadline. */
  deadline: number;
}

/** Resolves to undefined when no socket became free before the deadline. */
type TakeSocket = (request: HttpRequest) => Promise<TakenSocket | undefined>;

function createSocketShares(maxSockets: number): TakeSocket {
  const sharesByHost = new Map<string, Shares>();
  const sharesOf = (host: string): Shares => {
    const known = sharesByHost.get(host);
    if (known) return known;
    const shares = createShares({
      capacity: maxSockets,
      share: Math.max(1, Math.floor(maxSockets / 4)),
      maxWaitingPerKey: Number.POSITIVE_INFINITY, // the requests in progress are limited already
      maxWaitMs: 0, // each request has its own
    });
    sharesByHost.set(host, shares);
    return shares;
  };
  return async ({ url, client = "", deadline, signal }) => {
    const startedAt = performance.now();
    try {
      const grant = await sharesOf(url.origin).take(client, 1, { signal, maxWaitMs: deadline });
      return { grant, deadline: deadline - (performance.now() - startedAt) };
    } catch (error) {
      if (error instanceof ShareRefused) return undefined;
      throw error;
    }
  };
}

/** A file holds its socket until it was read or dropped. */
function releaseWhenClosed(grant: Grant, opened: OpenExchange): void {
  if (opened.outcome !== "answered" || opened.body.closed) grant.release();
  else opened.body.once("close", () => grant.release());
}

const isBuffered = (request: HttpRequest): request is BufferedRequest =>
  typeof request.body !== "object" && request.uploadTimeoutMs === undefined;

/** A request whose body is in memory. */
type BufferedRequest = HttpRequest & { body?: string | undefined; uploadTimeoutMs?: undefined };

/**
 * Idle connections close before the platform drops them: a request written to a dropped connection has an
 * unknown outcome.
 */
const KEEP_ALIVE = { keepAliveTimeout: 4 * SECOND, keepAliveMaxTimeout: 15 * SECOND };

/** Runs exchanges whose bodies are in memory, with a third of got's processor time: sends are the bulk of all calls. */
function createBufferedExchanges(maxSockets: number) {
  const agent = new Agent({
    ...KEEP_ALIVE,
    connections: maxSockets,
    // The deadline covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    async run({ method, url, headers, body, deadline, signal }: BufferedRequest): Promise<Exchange> {
      const { origin, pathname, search } = url;
      // Not idempotent: undici must never repeat a send.
      const request = {
        method,
        origin,
        path: pathname + search,
        headers,
        body: body ?? null,
        idempotent: false,
      };
      const limits = {
        deadline: Math.max(1, deadline),
        maxBytes: MAX_ANSWER_BYTES,
        keptBytes: MAX_ANSWER_BYTES,
        signal,
      };
      const exchange = await sendRequest(agent, request, limits);
      await endOfTurn(); // the connection is free only then, and the caller's next call would open another one
      return toExchange(exchange);
    },
    close: (): void => void agent.destroy(),
  };
}

function toExchange({ status, headers, body, isSent, fault }: HttpExchange): Exchange {
  if (fault === undefined && status !== null)
    return { outcome: "answered", status, headers, text: body.toString("utf8") };
  // An answer that is too large counts as one that is not JSON.
  if (fault === "too_large" && status !== null) return { outcome: "answered", status, headers, text: "" };
  return toNoAnswer(fault, isSent);
}

/** Keeps only the error code: errors may contain the request. */
function toNoAnswer(fault: HttpExchange["fault"], isSent: boolean): NoAnswer {
  if (fault === "timeout") return { outcome: "timeout", sent: isSent, reason: "request" };
  const code = fault instanceof Error && "code" in fault ? String(fault.code) : String(fault ?? "");
  return { outcome: "broken", sent: isSent && !NOT_SENT_CODES.has(code), reason: code };
}
