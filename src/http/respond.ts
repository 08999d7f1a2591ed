import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PlatformFailure } from "../platforms/errors/failure.ts";
import { createWatch } from "../runtime/async/watch.ts";
import { SECOND } from "../runtime/durations.ts";
import { newId } from "../runtime/ids.ts";
import type { Fields, Log } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { TrackedWork, WorkTracker } from "../runtime/watchdog.ts";
import { DatabaseUnavailable } from "../store/database/faults.ts";
import { ApiError } from "./api-error.ts";
import { type ErrorFormat, errorReply, toApiError } from "./error-reply.ts";
import { commonHeaders, type OutgoingFile, type OutgoingReply, streamFile } from "./reply.ts";
import type { BodyOwner } from "./request/body.ts";
import type { Exchange } from "./route.ts";

interface Reply {
  status: number;
  type: string;
  body: string | Buffer | undefined;
  headers?: Readonly<Record<string, string>>;
}

interface FileReply {
  status: number;
  file: OutgoingFile;
}

/** An exchange while it is in work. */
export interface OpenExchange extends Exchange {
  /** Set after authentication; for the log. */
  clientId: string | undefined;
  /** Ids of the work, for the log. */
  logIds: Record<string, string> | undefined;
  /** In whose memory the answer counts while it waits to be sent; set after authentication. */
  memory: BodyOwner | undefined;
  /** Response headers, written in one call: setting each on the response is slower. */
  headers: Record<string, string | number>;
}

interface ExchangeOptions {
  trustedProxies: number;
  /** True when callers reach this service by https. */
  isHttps: boolean;
}

/** How the replies of a route are written, logged and counted. */
export interface Recorder extends ExchangeOptions {
  log: Log;
  metrics: Metrics;
  tracker: WorkTracker;
  unsentAnswers: UnsentAnswers;
  pattern: string;
  errorFormat: ErrorFormat;
  isRepeatable: boolean;
  /** The level of the line http.request. */
  logLevel: "info" | "debug";
  faultLog: FaultLog;
}

/** Logs the faults of one route. */
export interface FaultLog {
  failed(fields: Fields): void;
  /** Called for each request without a fault. */
  succeeded(): void;
}

/** Each request logs its own fault. */
export const createFaultLog = (log: Log): FaultLog => ({
  failed: (fields) => log.error("http.failed", fields),
  succeeded() {},
});

/** For a route that is polled: an outage logs its first fault and its end, and the faults in between at debug. */
export function createOutageLog(log: Log, route: string): FaultLog {
  let isFailing = false;
  return {
    failed(fields) {
      log[isFailing ? "debug" : "error"]("http.failed", fields);
      isFailing = true;
    },
    succeeded() {
      if (isFailing) log.info("http.recovered", { route });
      isFailing = false;
    },
  };
}

/** Sends the reply of `work` or its error, then logs and counts the request. */
export async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  recorder: Recorder,
  work: (exchange: OpenExchange, tracked: TrackedWork) => Promise<Reply | FileReply>,
): Promise<void> {
  const exchange = openExchange(request, response, recorder);
  const tracked = recorder.tracker.begin(`${request.method} ${recorder.pattern} ${exchange.requestId}`);
  try {
    await replyAndRecord({ request, response, exchange }, recorder, () => work(exchange, tracked));
  } finally {
    tracked.end();
  }
}

interface ServerExchange {
  request: IncomingMessage;
  response: ServerResponse;
  exchange: OpenExchange;
}

async function replyAndRecord(
  { request, response, exchange }: ServerExchange,
  recorder: Recorder,
  work: () => Promise<Reply | FileReply>,
): Promise<void> {
  const startedAt = performance.now();
  let code: string | undefined;
  let reply: Reply | FileReply;
  try {
    reply = await work();
    recorder.faultLog.succeeded();
  } catch (thrown) {
    const error = toApiError(thrown, recorder);
    code = error.code;
    if (isFault(error))
      recorder.faultLog.failed({
        request_id: exchange.requestId,
        client: exchange.clientId,
        ...exchange.logIds,
        route: recorder.pattern,
        ...faultFields(thrown, error),
      });
    reply = errorReply(error, exchange, recorder.errorFormat);
  }
  const headOnly = request.method === "HEAD";
  const outgoing = { response, headers: exchange.headers, headOnly };
  if ("file" in reply) {
    const { maxPauseMs } = reply.file;
    recorder.unsentAnswers.watch(response, maxPauseMs === undefined ? undefined : anyRate(maxPauseMs));
    code = await streamFile(outgoing, reply);
  } else {
    send(outgoing, reply);
    if (isUnsent(response)) keepUnsent({ response, exchange }, recorder, reply);
  }
  record(request, exchange, recorder, {
    status: reply.status,
    code,
    seconds: (performance.now() - startedAt) / 1000,
  });
}

/** An outage or a refusal affects many requests: its stack trace would only repeat in the log. */
function faultFields(thrown: unknown, { cause }: ApiError): Fields {
  if (cause instanceof DatabaseUnavailable) return { error: cause.message };
  if (cause instanceof PlatformFailure) return { error: cause.message, verdict: cause.verdict };
  if (thrown instanceof ApiError && cause === undefined) return { error: thrown.message };
  return { err: thrown };
}

/** `overloaded` is a refusal, like 429: an attack must not fill the log with stack traces. */
const isFault = ({ status, code }: ApiError) => status >= 500 && code !== "overloaded";

function send(
  { response, headers, headOnly }: OutgoingReply,
  { status, type, body, headers: replyHeaders }: Reply,
): void {
  if (replyHeaders) Object.assign(headers, replyHeaders);
  if (body !== undefined) {
    headers["Content-Type"] = type;
    headers["Content-Length"] = Buffer.byteLength(body);
  }
  response.writeHead(status, headers);
  response.end(headOnly ? undefined : body);
}

/** Counts the answer in the caller's share until the caller has taken it. Bytes are kept by their route, not for this answer. */
function keepUnsent(
  { response, exchange }: Pick<ServerExchange, "response" | "exchange">,
  { unsentAnswers }: Recorder,
  { body }: Reply,
): void {
  unsentAnswers.watch(response);
  if (typeof body !== "string" || !exchange.memory) return;
  const { part, key } = exchange.memory;
  const grant = part.shares.count(key, body.length);
  response.once("close", () => grant.release());
}

interface Outcome {
  status: number;
  code: string | undefined;
  seconds: number;
}

function record(
  request: IncomingMessage,
  exchange: OpenExchange,
  recorder: Recorder,
  outcome: Outcome,
): void {
  const { pattern: route, metrics, log } = recorder;
  const method = request.method ?? "";
  metrics.httpRequests.inc({ method, route, status: outcome.status });
  metrics.httpSeconds.observe({ method, route }, outcome.seconds);
  log[recorder.logLevel]("http.request", {
    request_id: exchange.requestId,
    client: exchange.clientId,
    ...exchange.logIds,
    method,
    route,
    status: outcome.status,
    error: outcome.code,
    ms: Math.round(outcome.seconds * 10_000) / 10,
  });
}

/** Creates the exchange of one request. */
function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  { trustedProxies, isHttps }: ExchangeOptions,
): OpenExchange {
  const requestId = givenRequestId(request) ?? newId("req");
  const headers = commonHeaders(requestId, isHttps);
  let signal: AbortSignal | undefined;
  const exchange: OpenExchange = {
    requestId,
    clientId: undefined,
    logIds: undefined,
    memory: undefined,
    headers,
    address: callerAddress(request, trustedProxies),
    header: (name) => joinHeader(request.headers[name.toLowerCase()]),
    callerGone() {
      signal ??= disconnectSignal(response);
      return signal;
    },
    setHeader(name, value) {
      headers[name] = value;
    },
    addLogIds(ids) {
      exchange.logIds = { ...exchange.logIds, ...ids };
    },
  };
  return exchange;
}

/** Made only when it is asked for: most requests are over before anything could be cancelled. */
function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed) controller.abort();
  else response.once("close", () => controller.abort());
  return controller.signal;
}

const joinHeader = (value: string | string[] | undefined) =>
  Array.isArray(value) ? value.join(", ") : value;

function givenRequestId(request: IncomingMessage): string | undefined {
  const given = joinHeader(request.headers["x-request-id"]);
  return given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : undefined;
}

/** The socket's peer, or the address that the outermost trusted proxy saw. */
function callerAddress(request: IncomingMessage, trustedProxies: number): string {
  if (trustedProxies === 0) return request.socket.remoteAddress ?? "";
  const forwarded = joinHeader(request.headers["x-forwarded-for"])?.split(",") ?? [];
  const hops = [...forwarded.map((hop) => hop.trim()), request.socket.remoteAddress ?? ""];
  return hops[Math.max(0, hops.length - 1 - trustedProxies)] ?? "";
}

/** Answers that callers have not taken yet. */
interface UnsentAnswers {
  /** Disconnects the caller when it takes the answer too slowly. */
  watch(response: ServerResponse, limits?: TakeLimits): void;
}

interface UnsentAnswer {
  socket: Socket;
  limits: TakeLimits;
  /** Time in the present period in which the answer waited for the caller. */
  waitMs: number;
  /** Bytes that the caller had taken when the period began. */
  taken: number;
}

export interface TakeLimits {
  periodMs: number;
  minBytesPerSecond: number;
}

const TAKE_LIMITS: TakeLimits = { periodMs: 30 * SECOND, minBytesPerSecond: 16_384 };

const CHECK_INTERVAL_MS = 500;

/** Any rate will do, but not nothing for a whole period. */
const anyRate = (periodMs: number): TakeLimits => ({ periodMs, minBytesPerSecond: SECOND / periodMs });

export function createUnsentAnswers(defaultLimits = TAKE_LIMITS): UnsentAnswers {
  const answers = createWatch<UnsentAnswer>({
    intervalMs: Math.min(CHECK_INTERVAL_MS, defaultLimits.periodMs),
    isOver(answer, ms) {
      const { periodMs, minBytesPerSecond } = answer.limits;
      // Nothing waits for the caller: the source of a streamed answer is slow.
      answer.waitMs = answer.socket.writableLength > 0 ? answer.waitMs + ms : 0;
      if (answer.waitMs > 0 && answer.waitMs < periodMs) return false;
      const taken = takenBytes(answer.socket);
      const isTooSlow = answer.waitMs > 0 && taken - answer.taken < (minBytesPerSecond * periodMs) / SECOND;
      Object.assign(answer, { waitMs: 0, taken });
      return isTooSlow;
    },
    end: ({ socket }) => socket.destroy(),
  });
  return {
    watch(response, limits = defaultLimits) {
      const { socket, closed } = response;
      if (!socket || closed) return;
      const answer = { socket, limits, waitMs: 0, taken: takenBytes(socket) };
      answers.add(answer);
      response.once("close", () => answers.delete(answer));
    },
  };
}

/** True while a part of the answer waits in this process, because the caller does not read it. */
const isUnsent = ({ socket, closed }: ServerResponse): boolean =>
  !closed && (socket?.writableLength ?? 0) > 0;

/**
 * Bytes that the operating system took: those of a write that has begun are in the queue of its handle. Its buffers take
 * them in steps of up to some megabytes.
 */
function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null };
  return (socket.bytesWritten ?? 0) - (handle?.writeQueueSize ?? 0);
}
