import type { IncomingMessage, ServerResponse } from "node:http";
import { stringifyJson } from "../runtime/json/json.ts";
import type { UnitOfWork } from "../runtime/watchdog/work-tracker.ts";
import type { Validator } from "../schema/validate.ts";
import type { Signer } from "../security/derived-keys.ts";
import { type AdmissionRules, admit } from "./admission.ts";
import { bindCursors } from "./cursors.ts";
import { JSON_TYPE } from "./error-reply.ts";
import type { OpenExchange } from "./exchange.ts";
import { type HandlerContext, type Idempotency, readIdempotencyKey } from "./idempotency.ts";
import { ReplayedReply } from "./operation.ts";
import { CsvReply, prefersCsv } from "./reply/csv-reply.ts";
import type { OutgoingFile } from "./reply/media-reply.ts";
import { BODY_TIMEOUTS_MS, type BodyTimeouts, type IncomingBody, incomingBody } from "./request/body.ts";
import { bodyLimitOf } from "./request/body-limits.ts";
import type { BodyMemory } from "./request/body-memory.ts";
import type { BodyPace } from "./request/body-pace.ts";
import { setEtag } from "./request/etag.ts";
import { createInputReader } from "./request/input.ts";
import { type Recorder, respond } from "./respond.ts";
import {
  isMediaReply,
  isRawBody,
  isRepeatable,
  isStreamBody,
  isStreamReply,
  type Route,
  statusesOf,
  statusOf,
} from "./route.ts";
import { errorFormatOf } from "./views/error-view.ts";

export interface PipelineParts
  extends AdmissionRules,
    Omit<Recorder, "pattern" | "errorFormat" | "isRepeatable" | "logLevel"> {
  validator: Validator;
  cursorSigner: Signer;
  idempotency: Idempotency;
  bodyMemory: BodyMemory;
  bodyPace: BodyPace;
  bodyTimeouts?: BodyTimeouts;
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
    pace: isRawBody(route.body) && route.body.isPaced ? parts.bodyPace : undefined,
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
    const { requestId, address, header, callerGone, setHeader, addLogIds } = exchange;
    // Built as one object literal: spreading the parts is measurably slower under load.
    const context = {
      requestId,
      address,
      header,
      callerGone,
      setHeader,
      addLogIds,
      params,
      query,
      body,
      caller,
      get cursors() {
        return bindCursors(parts.cursorSigner, caller?.clientId ?? "", `${route.method} ${route.path}`);
      },
      operation: undefined,
      wantsCsv: route.csv !== undefined && prefersCsv(header("accept")),
    } as HandlerContext;
    const isKeyed = key !== undefined && !route.ignoresKey?.(query);
    return isKeyed ? parts.idempotency(route, context, key) : route.handle(context);
  }

  const recorder = {
    pattern: route.path,
    errorFormat: errorFormatOf(route),
    isRepeatable: isRepeatable(route),
    logLevel: route.logLevel ?? ("info" as const),
    ...parts,
  };
  return (request, response, target) =>
    respond(request, response, recorder, async (exchange, unit) => {
      if (route.headers) Object.assign(exchange.headers, route.headers);
      const incoming = incomingBody(request, bodyRules);
      if (route.csv) exchange.setHeader("Vary", "Accept");
      const work = answer({ request, incoming, target, unit }, exchange).finally(incoming.release);
      parts.onRequestStarted(work);
      const value = await work.catch(async (refusal) => {
        await incoming.discard(); // 413 has priority over every other error, also for a chunked body
        throw refusal;
      });
      unit.resume();
      if (route.loggedId !== undefined) addReplyId(exchange, route.loggedId, value);
      if (value instanceof ReplayedReply) return value;
      if (value instanceof CsvReply) return { status: statusesOf(route)[0], file: value };
      if (route.location) exchange.setHeader("Location", route.location(value));
      const status = statusOf(route, value);
      if (isStreamReply(route.reply)) return { status, file: value as OutgoingFile };
      if (isMediaReply(route.reply))
        return { status, type: route.reply.mediaType, body: value as string | Buffer };
      const body = route.reply ? stringifyJson(value) : undefined;
      if (route.etag && body !== undefined && setEtag(exchange, body))
        return { status: 304, type: JSON_TYPE, body: undefined };
      return { status, type: JSON_TYPE, body };
    });
}

/** Logs the field of the reply, or of the first reply that is returned again. */
function addReplyId(exchange: OpenExchange, field: string, value: unknown): void {
  const reply = value instanceof ReplayedReply ? JSON.parse(value.body ?? "{}") : value;
  exchange.addLogIds({ [field]: String((reply as Record<string, unknown>)[field]) });
}
