import type { IncomingMessage, ServerResponse } from "node:http";
import { stringifyJson } from "../runtime/json/json.ts";
import type { Fields, Log } from "../runtime/logging/log.ts";
import type { Metrics } from "../runtime/metrics/metrics.ts";
import type { UnitOfWork, WorkTracker } from "../runtime/watchdog/work-tracker.ts";
import type { Validator } from "../schema/validate.ts";
import type { Signer } from "../security/derived-keys.ts";
import { DatabaseUnavailable } from "../store/database/faults.ts";
import { ClientsBeingDeleted } from "../store/tenants/client-locks.ts";
import { type AdmissionRules, admit } from "./admission.ts";
import { ApiError } from "./api-error.ts";
import { bindCursors } from "./cursors.ts";
import { errorReply, JSON_TYPE, toApiError } from "./error-reply.ts";
import { type ExchangeOptions, type OpenExchange, openExchange } from "./exchange.ts";
import { type HandlerContext, type Idempotency, readIdempotencyKey } from "./idempotency.ts";
import { ReplayedReply } from "./operation.ts";
import { BODY_TIMEOUTS_MS, type BodyTimeouts, type IncomingBody, incomingBody } from "./request/body.ts";
import { bodyLimitOf } from "./request/body-limits.ts";
import type { BodyMemory } from "./request/body-memory.ts";
import { createInputReader } from "./request/input.ts";
import {
  isMediaReply,
  isRepeatable,
  isStreamBody,
  isStreamReply,
  type OutgoingFile,
  type Route,
  statusOf,
} from "./route.ts";
import { type OutgoingReply, streamFile } from "./stream-reply.ts";
import { type ErrorFormat, errorFormatOf } from "./views/error-view.ts";

export interface PipelineParts extends AdmissionRules, ExchangeOptions {
  validator: Validator;
  cursorSigner: Signer;
  log: Log;
  metrics: Metrics;
  idempotency: Idempotency;
  bodyMemory: BodyMemory;
  bodyTimeouts?: BodyTimeouts;
  tracker: WorkTracker;
  /** Called with the work of each request when it starts. */
  onRequestStarted(work: Promise<unknown>): void;
}

/** Path parameters and query string of the request. */
export interface Target {
  params: Record<string, unknown>;
  search: string;
}

interface IncomingRequest {
  request: IncomingMessage;
  incoming: IncomingBody;
  target: Target;
  unit: UnitOfWork;
}

export type Pipeline = (request: IncomingMessage, response: ServerResponse, target: Target) => Promise<void>;

/** Handles the requests of a route; the checks run in the order that the API contract fixes. */
export function createPipeline(route: Route, parts: PipelineParts): Pipeline {
  const input = createInputReader(route, parts.validator);
  const bodyRules = {
    limit: bodyLimitOf(route),
    isPublic: route.scope === "public",
    memory: parts.bodyMemory,
    timeouts: parts.bodyTimeouts ?? BODY_TIMEOUTS_MS,
  };

  async function answer(
    { request, incoming, target, unit }: IncomingRequest,
    exchange: OpenExchange,
  ): Promise<unknown> {
    const caller = await admit(route, request.headers, exchange, parts);
    const hasBody = request.method !== "GET" && request.method !== "HEAD";
    const read = isStreamBody(route.body) ? incoming.stream : incoming.read;
    const content = hasBody ? await read() : Buffer.alloc(0);
    const key = route.idempotent && readIdempotencyKey(request.headers);
    unit.resume();
    const [params, query] = [input.params(target.params), input.query(target.search)];
    const body = await input.body(content, request.headers["content-type"]);
    unit.resume();
    const { requestId, address, header, callerGone, setHeader } = exchange;
    // Built as one object literal: spreading the parts is measurably slower under load.
    const context = {
      requestId,
      address,
      header,
      callerGone,
      setHeader,
      params,
      query,
      body,
      caller,
      get cursors() {
        return bindCursors(parts.cursorSigner, caller?.clientId ?? "", `${route.method} ${route.path}`);
      },
      operation: undefined,
    } as HandlerContext;
    return key === undefined ? route.handle(context) : parts.idempotency(route, context, key);
  }

  const recorder = {
    pattern: route.path,
    errorFormat: errorFormatOf(route),
    isRepeatable: isRepeatable(route),
    ...parts,
  };
  return (request, response, target) =>
    respond(request, response, recorder, async (exchange, unit) => {
      const incoming = incomingBody(request, bodyRules);
      const work = answer({ request, incoming, target, unit }, exchange).finally(incoming.release);
      parts.onRequestStarted(work);
      const value = await work.catch(async (refusal) => {
        await incoming.discard(); // 413 has priority over every other error, also for a chunked body
        throw refusal;
      });
      unit.resume();
      if (value instanceof ReplayedReply) return value;
      if (route.location) exchange.setHeader("Location", route.location(value));
      const status = statusOf(route, value);
      if (isStreamReply(route.reply)) return { status, file: value as OutgoingFile };
      if (isMediaReply(route.reply))
        return { status, type: route.reply.mediaType, body: value as string | Buffer };
      return { status, type: JSON_TYPE, body: route.reply ? stringifyJson(value) : undefined };
    });
}

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

interface Recorder extends Pick<PipelineParts, "log" | "metrics" | "tracker">, ExchangeOptions {
  pattern: string;
  errorFormat: ErrorFormat;
  isRepeatable: boolean;
}

/** Sends the reply of `work` or its error, then logs and counts the request. */
export async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  recorder: Recorder,
  work: (exchange: OpenExchange, unit: UnitOfWork) => Promise<Reply | FileReply>,
): Promise<void> {
  const exchange = openExchange(request, response, recorder);
  const unit = recorder.tracker.begin(`${request.method} ${recorder.pattern} ${exchange.requestId}`);
  try {
    await replyAndRecord({ request, response, exchange }, recorder, () => work(exchange, unit));
  } finally {
    unit.end();
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
  } catch (thrown) {
    const error = toApiError(thrown, recorder);
    code = error.code;
    if (isFault(error))
      recorder.log.error("http.failed", {
        request_id: exchange.requestId,
        route: recorder.pattern,
        ...faultFields(thrown, error),
      });
    reply = errorReply(error, exchange, recorder.errorFormat);
  }
  const headOnly = request.method === "HEAD";
  const outgoing = { response, headers: exchange.headers, headOnly };
  if ("file" in reply) code = await streamFile(outgoing, reply);
  else send(outgoing, reply);
  record(request, exchange, recorder, {
    status: reply.status,
    code,
    seconds: (performance.now() - startedAt) / 1000,
  });
}

/** An outage or a refusal affects many requests: its stack trace would only repeat in the log. */
function faultFields(thrown: unknown, { cause }: ApiError): Fields {
  if (cause instanceof DatabaseUnavailable || cause instanceof ClientsBeingDeleted)
    return { error: cause.message };
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
  log.info("http.request", {
    request_id: exchange.requestId,
    client: exchange.clientId,
    method,
    route,
    status: outcome.status,
    error: outcome.code,
    ms: Math.round(outcome.seconds * 10_000) / 10,
  });
}
