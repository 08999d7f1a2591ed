import { type ClientRequest, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { got, type OptionsInit, RequestError, type Response, TimeoutError } from "got";
import { Agent } from "undici";
import { createShares, type Grant, ShareRefused, type Shares } from "../../runtime/async/shares.ts";
import { endOfTurn } from "../../runtime/async/time-slices.ts";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import { type HttpResult, sendRequest } from "../../runtime/http/send-request.ts";
import type { HttpRequest, NoAnswer, NoSocket, StreamedResult, Transport, TransportResult } from "./call.ts";

/** Limits memory and parsing time per response; a page of 500 insights rows is far smaller. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

const MAX_SOCKETS_PER_HOST = 512;

/**
 * The sockets to a host are divided between clients: one has at most a quarter. Further calls wait here within their
 * deadline, never in the queue of an agent, which would serve a client with many calls before the others.
 */
export function createTransport(maxSockets = MAX_SOCKETS_PER_HOST): Transport {
  const [buffered, streamed] = [createBufferedTransport(maxSockets), createStreamedTransport(maxSockets)];
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
  /** The rest of the request's deadline. */
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
function releaseWhenClosed(grant: Grant, opened: StreamedResult): void {
  if (opened.outcome !== "answered" || opened.body.closed) grant.release();
  else opened.body.once("close", () => grant.release());
}

const isBuffered = (request: HttpRequest): request is BufferedRequest =>
  typeof request.body !== "object" && request.uploadTimeoutMs === undefined;

/** A request whose body is in memory. */
type BufferedRequest = HttpRequest & { body?: string | undefined; uploadTimeoutMs?: undefined };

/** Idle connections close before the platform drops them: a request written to a dropped one has an unknown outcome. */
const MAX_IDLE_MS = 15 * SECOND;

/** Sends requests whose bodies are in memory, with a third of got's processor time: sends are the bulk of all calls. */
function createBufferedTransport(maxSockets: number) {
  const agent = new Agent({
    keepAliveTimeout: 4 * SECOND,
    keepAliveMaxTimeout: MAX_IDLE_MS,
    connections: maxSockets,
    // The deadline covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    async run({ method, url, headers, body, deadline, signal }: BufferedRequest): Promise<TransportResult> {
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
      const result = await sendRequest(agent, request, limits);
      await endOfTurn(); // the connection is free only then, and the caller's next call would open another one
      return toTransportResult(result);
    },
    close: (): void => void agent.destroy(),
  };
}

function toTransportResult({ status, headers, body, isSent, fault }: HttpResult): TransportResult {
  if (fault === undefined && status !== null)
    return { outcome: "answered", status, headers, text: body.toString("utf8") };
  // An answer that is too large counts as one that is not JSON.
  if (fault === "too_large" && status !== null) return { outcome: "answered", status, headers, text: "" };
  return toNoAnswer(fault, isSent);
}

function toNoAnswer(fault: HttpResult["fault"], isSent: boolean): NoAnswer {
  if (fault === "timeout") return { outcome: "timeout", sent: isSent, reason: "request" };
  return broken(fault instanceof Error && "code" in fault ? String(fault.code) : String(fault ?? ""), isSent);
}

/** These errors precede the connection, although a runtime may report the connection first. */
const NOT_SENT_CODES = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/** Keeps only the error's code: the errors of HTTP clients contain the whole request, including tokens. */
const broken = (code: string, isSent: boolean): NoAnswer => ({
  outcome: "broken",
  sent: isSent && !NOT_SENT_CODES.has(code),
  reason: code,
});

const MAX_DOWNLOAD_MS = 10 * MINUTE;

/** Sends requests whose bodies are streams, up or down. */
function createStreamedTransport(maxSockets: number): Transport {
  const agentOptions = { keepAlive: true, maxFreeSockets: 64, timeout: MAX_IDLE_MS, maxSockets };
  const agent = { http: new HttpAgent(agentOptions), https: new HttpsAgent(agentOptions) };
  const client = got.extend({ agent, retry: { limit: 0 }, followRedirect: false, throwHttpErrors: false });
  const options = ({ method, headers, body }: HttpRequest) =>
    ({ method, headers, ...(body === undefined ? {} : { body }) }) satisfies OptionsInit;
  return {
    async run(request) {
      const trace = { sent: false };
      const timeout = timeouts(request);
      const pendingResponse = client(request.url, { ...options(request), timeout, responseType: "text" });
      pendingResponse.on(
        "request",
        trackSent(trace, () => pendingResponse.cancel()),
      );
      pendingResponse.on("downloadProgress", ({ transferred }) => {
        if (transferred > MAX_ANSWER_BYTES) pendingResponse.cancel("the response is too large");
      });
      try {
        const { statusCode: status, headers, body: text } = await pendingResponse;
        return { outcome: "answered", status, headers, text };
      } catch (error) {
        return toStreamFailure(error, trace.sent);
      }
    },
    open(request) {
      const trace = { sent: false };
      const body = client.stream(request.url, { ...options(request), timeout: downloadTimeouts(request) });
      body.on(
        "request",
        trackSent(trace, () => body.destroy(new Error("unexpected protocol upgrade"))),
      );
      return new Promise((resolve) => {
        body.once("response", ({ statusCode: status, headers }: Response) => {
          // Waits for the first bytes or the end: a connection that breaks earlier counts as no response.
          body.once("readable", () => resolve({ outcome: "answered", status, headers, body }));
        });
        body.once("error", (error) => resolve(toStreamFailure(error, trace.sent)));
      });
    },
    close() {
      agent.http.destroy();
      agent.https.destroy();
    },
  };
}

function timeouts({ deadline, uploadTimeoutMs }: HttpRequest) {
  const timeoutMs = Math.max(1, deadline);
  if (uploadTimeoutMs === undefined) return { request: timeoutMs };
  return {
    lookup: timeoutMs,
    connect: timeoutMs,
    secureConnect: timeoutMs,
    response: timeoutMs,
    request: timeoutMs + uploadTimeoutMs,
  };
}

/** `socket` limits idle time, so a large file may take longer than the deadline while data arrives. */
const downloadTimeouts = ({ deadline }: HttpRequest) => ({
  lookup: deadline,
  connect: deadline,
  secureConnect: deadline,
  send: deadline,
  response: deadline,
  socket: deadline,
  request: MAX_DOWNLOAD_MS,
});

/** Records when the request may have been sent: from the moment a connection exists. */
const trackSent = (trace: { sent: boolean }, onUpgrade: () => void) => (request: ClientRequest) => {
  // Without a listener, Node ends an upgraded request without an error.
  request.once("upgrade", (_response, socket) => {
    socket.destroy();
    onUpgrade();
  });
  request.once("socket", (socket) => {
    // Deno resends a request, even a POST, when a reused connection breaks; a send must go out only once.
    request.reusedSocket = false;
    const markSent = () => {
      trace.sent = true;
    };
    if (socket.connecting) socket.once("encrypted" in socket ? "secureConnect" : "connect", markSent);
    else markSent();
  });
};

function toStreamFailure(error: unknown, sent: boolean): NoAnswer {
  if (error instanceof TimeoutError) return { outcome: "timeout", sent, reason: error.event };
  return broken(error instanceof RequestError ? error.code : "", sent);
}
