import type { Log } from "../../runtime/logging/log.ts";
import { type Effect, type Outcome, type PendingCall, PREVENTING_FAULTS } from "../faults/effects.ts";
import { type CallFault, INBOX_PATH } from "../faults/fault.ts";
import type { Faults } from "../faults/faults.ts";
import { type Graph, tokenOf } from "../graph.ts";
import type { Tokens } from "../login/tokens.ts";
import type { ReceivedRequest, RecordedOutcome, Records } from "../records/records.ts";
import type { Reply } from "../wire/call.ts";
import { Params } from "../wire/params.ts";
import { readParams } from "../wire/read-params.ts";
import { answerBatch, isBatch } from "./batch.ts";
import { ControlError, errorReply } from "./error-reply.ts";
import { findRoute, type SandboxRequest, type SandboxRoute } from "./route.ts";

export interface RequestHandlerParts {
  routes: readonly SandboxRoute[];
  graph: Pick<Graph, "answer">;
  tokens: Tokens;
  faults: Faults;
  effects: Record<CallFault, Effect>;
  /** Requests to the platforms; `inbox` has the requests to the demo client's backend. */
  requests: Records;
  inbox: Records;
  log: Log;
}

/** Handles every request: records it, applies a matching fault, and answers by a route or by the graph. */
export type RequestHandler = (request: ReceivedRequest) => Promise<Outcome>;

export function createRequestHandler(parts: RequestHandlerParts): RequestHandler {
  const { tokens, faults, effects, requests, inbox, log } = parts;

  async function answerWithFaults(
    request: ReceivedRequest,
    recordedOutcome: RecordedOutcome,
  ): Promise<Outcome> {
    const call = await toPendingCall(request, parts, handle);
    const { method, url, token } = call;
    const { kind = "app" } = tokens.read(token) ?? {};
    const fault = faults.takeForCall({ method, path: url.pathname, hasRevocableToken: kind !== "app" });
    if (!fault) return call.execute();
    recordedOutcome.fault = fault.kind;
    if (PREVENTING_FAULTS.includes(fault.kind)) recordedOutcome.acted = false;
    return effects[fault.kind](fault, call);
  }

  const handle: RequestHandler = async (request) => {
    const destination = destinationOf(request);
    if (destination === "control") return (await toPendingCall(request, parts, handle)).execute();
    const began = Date.now();
    const recordedOutcome = (destination === "inbox" ? inbox : requests).add(request);
    const outcome = await answerWithFaults(request, recordedOutcome);
    if (outcome) recordedOutcome.status = outcome.status;
    if (destination === "platform")
      log.info("sandbox.answered", { ...toLogFields(request, outcome), ms: Date.now() - began });
    return outcome;
  };
  return handle;
}

const CONTROL_PATH = /^\/_sandbox(\/|$)/;

function destinationOf({ method, url: { pathname } }: ReceivedRequest): "platform" | "inbox" | "control" {
  if (!CONTROL_PATH.test(pathname)) return "platform";
  return method === "POST" && (pathname === INBOX_PATH || pathname.startsWith(`${INBOX_PATH}/`))
    ? "inbox"
    : "control";
}

/**
 * Prepares the call behind a request. Nothing runs before `execute`, which turns thrown errors into replies.
 */
async function toPendingCall(
  request: ReceivedRequest,
  parts: RequestHandlerParts,
  handle: RequestHandler,
): Promise<PendingCall> {
  const { method, url, headers, body } = request;
  const { params, bodyError } = await readParams(url.searchParams, headers["content-type"], body).then(
    (params) => ({ params, bodyError: undefined }),
    (error: unknown) => ({ params: new Params(new Map(url.searchParams)), bodyError: error }),
  );
  const complete = { ...request, params, bodyError };
  const answerRequest = async (): Promise<Reply> =>
    isBatch(request) ? answerBatch(complete, handle) : answer(complete, parts);
  return {
    method,
    url,
    token: subjectTokenOf(headers.authorization, params),
    execute: () => answerRequest().catch((error) => errorReply(error, parts.log)),
  };
}

/** Prefers the token that is inspected or exchanged over the app token that authenticates the call. */
function subjectTokenOf(authorization: string | undefined, params: Params): string {
  try {
    return (
      params.text("input_token") ?? params.text("fb_exchange_token") ?? tokenOf({ authorization, params })
    );
  } catch {
    return "";
  }
}

async function answer(request: SandboxRequest, { routes, graph }: RequestHandlerParts): Promise<Reply> {
  const { method, url, headers, params } = request;
  const route = findRoute(routes, method, url.pathname);
  if (route) return route.answer(request);
  if (CONTROL_PATH.test(url.pathname))
    throw new ControlError(404, `There is no ${method} ${url.pathname}; GET /_sandbox lists the endpoints`);
  if (request.bodyError) throw request.bodyError;
  return graph.answer({ method, url, authorization: headers.authorization, params });
}

/** Omits the query and the body because they contain secrets. */
const toLogFields = ({ method, url }: ReceivedRequest, outcome: Outcome) => ({
  method,
  path: url.pathname,
  status: outcome?.status ?? "dropped",
  code: (outcome?.body as { error?: { code?: number } } | undefined)?.error?.code,
});
