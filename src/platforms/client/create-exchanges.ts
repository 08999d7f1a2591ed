import { createShares, type Grant, ShareRefused, type Shares } from "../../runtime/shares.ts";
import { type BufferedRequest, createBufferedExchanges } from "./buffered-exchange.ts";
import type { NoSocket } from "./call.ts";
import type { Exchanges, HttpRequest, OpenExchange } from "./exchange.ts";
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
