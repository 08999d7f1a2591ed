import type { IncomingMessage, ServerResponse } from "node:http";
import { networkOf } from "../runtime/http/addresses.ts";
import { uuidOf } from "../runtime/ids.ts";
import { stringifyJson } from "../runtime/json/json.ts";
import type { TrackedWork } from "../runtime/watchdog.ts";
import type { Validator } from "../schema/validate.ts";
import type { Signer } from "../security/signatures-and-states.ts";
import { ANONYMOUS_KEY } from "../store/database/connections.ts";
import type { Database } from "../store/database/database.ts";
import { readAcceptance } from "../store/tenants/terms.ts";
import { ApiError, errorOf } from "./api-error.ts";
import { authenticate, type Caller, type CredentialScheme } from "./credentials.ts";
import { errorFormatOf } from "./error-reply.ts";
import { type HandlerContext, type Idempotency, readIdempotencyKey } from "./idempotency.ts";
import { bindCursors } from "./lists.ts";
import type { RateLimit } from "./rate-limit.ts";
import {
  acceptsEventStream,
  CsvReply,
  EventStreamReply,
  JSON_TYPE,
  type OutgoingFile,
  prefersCsv,
  ReplayedReply,
} from "./reply.ts";
import { type IncomingBody, incomingBody } from "./request/body.ts";
import type { BodyMemory } from "./request/body-memory.ts";
import { createInputReader } from "./request/input.ts";
import { createFaultLog, createOutageLog, type OpenExchange, type Recorder, respond } from "./respond.ts";
import {
  bodyLimitOf,
  bodyPartOf,
  type Exchange,
  isMediaReply,
  isRepeatable,
  isStreamBody,
  isStreamReply,
  type Route,
  statusesOf,
  statusOf,
} from "./route.ts";

export interface PipelineParts
  extends AdmissionRules,
    Omit<Recorder, "pattern" | "errorFormat" | "isRepeatable" | "logLevel" | "faultLog"> {
  db: Database;
  validator: Validator;
  cursorSigner: Signer;
  idempotency: Idempotency;
  bodyMemory: BodyMemory;
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
  response: ServerResponse;
  incoming: IncomingBody;
  target: Target;
  tracked: TrackedWork;
}

export type Pipeline = (request: IncomingMessage, response: ServerResponse, target: Target) => Promise<void>;

/** Handles the requests of a route; the checks run in the order that the API contract fixes. */
export function createPipeline(route: Route, parts: PipelineParts): Pipeline {
  const input = createInputReader(route, parts.validator);
  const isCancellable = isCancellableRead(route);
  const [bodyLimit, bodyPart] = [bodyLimitOf(route), bodyPartOf(route)];

  async function answer(
    { request, response, incoming, target, tracked }: IncomingRequest,
    exchange: OpenExchange,
  ): Promise<unknown> {
    const { requestId, address, header, callerGone, setHeader, addLogIds } = exchange;
    const caller = await admit(route, request.headers, exchange, parts);
    route.checkHead?.(exchange);
    const read = isStreamBody(route.body) ? incoming.stream : incoming.read;
    const key = caller?.clientId ?? networkOf(address);
    const owner = { key, part: parts.bodyMemory.partOf(bodyPart, key), callerGone };
    if (caller) exchange.memory = owner;
    const content = await read(owner);
    const operationKey = route.idempotent && readIdempotencyKey(request.headers, route.requiresKey);
    tracked.resume();
    const [params, query] = [input.params(target.params), input.query(target.search)];
    const body = await input.body(content, request.headers["content-type"], key);
    if (response.destroyed) throw disconnected();
    tracked.resume();
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
      get db() {
        return parts.db.forKey(caller?.clientId ?? ANONYMOUS_KEY, isCancellable ? callerGone : undefined);
      },
      get cursors() {
        return bindCursors(parts.cursorSigner, caller?.clientId ?? "", `${route.method} ${route.path}`);
      },
      operation: undefined,
      wantsCsv: route.csv !== undefined && prefersCsv(header("accept")),
      wantsEventStream: route.eventStream !== undefined && acceptsEventStream(header("accept")),
      isStillAllowed: () =>
        isStillAllowed(route, request.headers, { caller, credentials: parts.credentials }),
    } as HandlerContext;
    const isKeyed = operationKey !== undefined && !route.ignoresKey?.(query);
    return isKeyed ? parts.idempotency(route, context, operationKey) : route.handle(context);
  }

  const recorder = {
    pattern: route.path,
    errorFormat: errorFormatOf(route),
    isRepeatable: isRepeatable(route),
    logLevel: route.logLevel ?? ("info" as const),
    faultLog: route.logLevel === "debug" ? createOutageLog(parts.log, route.path) : createFaultLog(parts.log),
    ...parts,
  };
  return (request, response, target) =>
    respond(request, response, recorder, async (exchange, tracked) => {
      if (route.headers) Object.assign(exchange.headers, route.headers);
      const incoming = incomingBody(request, { limit: bodyLimit, memory: parts.bodyMemory });
      if (route.csv || route.eventStream) exchange.setHeader("Vary", "Accept");
      const work = answer({ request, response, incoming, target, tracked }, exchange).finally(
        incoming.release,
      );
      parts.onRequestStarted(work);
      const value = await work.catch(async (refusal) => {
        await incoming.discard(); // 413 has priority over every other error, also for a chunked body
        throw refusal;
      });
      tracked.resume();
      if (route.loggedId !== undefined) addReplyId(exchange, route.loggedId, value);
      if (value instanceof ReplayedReply) return value;
      if (value instanceof CsvReply || value instanceof EventStreamReply)
        return { status: statusesOf(route)[0], file: value };
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

/** The caller does not get it: its work is not begun. */
const disconnected = () => new ApiError("validation_failed", "The caller disconnected");

/** True when nothing is lost if the work ends with the caller: the others record what they have done elsewhere. */
const isCancellableRead = ({ method, scope }: Route): boolean => method === "get" && scope !== "public";

/** Logs the field of the reply, or of the first reply that is returned again. */
function addReplyId(exchange: OpenExchange, field: string, value: unknown): void {
  const reply = value instanceof ReplayedReply ? JSON.parse(value.body ?? "{}") : value;
  exchange.addLogIds({ [field]: String((reply as Record<string, unknown>)[field]) });
}

/** A condition on the client besides scope and role. Throws an ApiError when it is not met. */
export type Gate = (caller: Caller) => Promise<void>;

/**
 * Requires acceptance of the terms in force. Queried on every request, so a new version takes effect
 * immediately.
 */
export const termsGate =
  (db: Database): Gate =>
  async ({ clientId }) => {
    const { version, accepted } = await readAcceptance(db.forKey(clientId), clientId);
    if (accepted) return;
    throw new ApiError("terms_not_accepted", `The client must accept version ${version} of the terms first`, {
      extra: { current_version: version },
    });
  };

interface AdmissionRules {
  credentials: readonly CredentialScheme[];
  rateLimit: RateLimit;
  gates: Readonly<Record<string, Gate>>;
}

/**
 * Authenticates and authorises the request, in the order that the API contract fixes. Does not read the body.
 */
async function admit(
  route: Route,
  headers: Parameters<typeof authenticate>[1],
  exchange: OpenExchange,
  rules: AdmissionRules,
): Promise<Caller | undefined> {
  if (route.scope === "public") return undefined;
  const caller = await authenticate(rules.credentials, headers);
  exchange.clientId = caller.clientId;
  const rateLimitHeaders = await rules.rateLimit(caller.clientId);
  for (const [name, value] of Object.entries(rateLimitHeaders)) exchange.setHeader(name, value);
  assertAllowed(route, caller);
  if (route.gate !== undefined) await rules.gates[route.gate]?.(caller);
  return caller;
}

interface AdmittedCaller extends Pick<AdmissionRules, "credentials"> {
  caller: Caller | undefined;
}

/** Repeats the checks of the credential, for a request that stays open. */
async function isStillAllowed(
  route: Route,
  headers: Parameters<typeof authenticate>[1],
  { caller: admitted, credentials }: AdmittedCaller,
): Promise<boolean> {
  if (route.scope === "public") return true;
  try {
    const caller = await authenticate(credentials, headers);
    assertAllowed(route, caller);
    return caller.clientId === admitted?.clientId;
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return false;
    throw error;
  }
}

/** Throws the first refusal, in the order that the API contract fixes. */
function assertAllowed(route: Route, caller: Caller): void {
  assertConsole(route, caller);
  assertScope(route.scope, caller);
  assertRole(route, caller);
}

function assertConsole(route: Route, caller: Caller): void {
  if (route.consoleOnly && caller.credential.type !== "user") throw errorOf("console_only");
}

function assertScope(scope: Route["scope"], caller: Caller): void {
  if (scope === "any_credential" || scope === "public") return;
  const sufficient = typeof scope === "string" ? [scope] : scope;
  if (sufficient.some((one) => caller.scopes.has(one))) return;
  throw new ApiError("insufficient_scope", `This request requires the scope ${sufficient.join(" or ")}`, {
    extra: { required_scope: sufficient[0] },
  });
}

function assertRole(route: Route, caller: Caller): void {
  if (!route.roles || (caller.role !== null && route.roles.includes(caller.role))) return;
  throw new ApiError("role_insufficient", `This request requires the role ${route.roles.join(" or ")}`);
}

/** Sets the ETag of the reply. Returns true when the caller already has this body. */
function setEtag({ header, setHeader }: Exchange, body: string): boolean {
  const etag = `"${uuidOf(body)}"`;
  setHeader("ETag", etag);
  setHeader("Cache-Control", "private, no-cache");
  return isKnown(header("if-none-match") ?? "", etag);
}

/** If-None-Match names any number of tags, weak ones (`W/"…"`) included, or `*` for all. */
const isKnown = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch
    .split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""))
    .some((tag) => tag === etag || tag === "*");
