import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { isAddressInUse, listen, trackConnections } from "../../runtime/http/listen.ts";
import type { Log } from "../../runtime/log.ts";
import { type Effect, type Outcome, type PendingCall, PREVENTING_FAULTS } from "../fault-effects.ts";
import { type CallFault, type Faults, INBOX_PATH } from "../faults.ts";
import { type Graph, tokenOf } from "../graph/graph.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import { toJson } from "../graph/json.ts";
import { Reply } from "../graph/node.ts";
import { Params, readBody, readParams } from "../graph/params.ts";
import type { Tokens } from "../graph/tokens.ts";
import type { ReceivedRequest, RecordedOutcome, Records } from "./records.ts";
import { ControlError, errorReply, findRoute, type SandboxRequest, type SandboxRoute } from "./routes.ts";

export interface ServerParts {
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

interface LoopbackServer {
  port(): number;
  /** 0 selects any free port. */
  start(port: number, fail: (error: unknown) => void): Promise<void>;
  close(): Promise<void>;
}

/** A server that records each request, applies a matching fault, and answers by a route or by the graph. */
export const createSandboxServer = (parts: ServerParts): LoopbackServer =>
  createLoopbackServer(createListener(createRequestHandler(parts), parts.log));

const MAX_PORT_TRIES = 10;

/** Listens on both loopback addresses with one port: programs resolve `localhost` to either of them. */
function createLoopbackServer(answer: RequestListener): LoopbackServer {
  const [ipv4, ipv6] = [createServer(answer), createServer(answer)];
  const servers = [ipv4, ipv6].map((server) => ({ server, connections: trackConnections(server) }));
  const port = () => (ipv4.address() as AddressInfo).port;

  /** A port that is free at one address may be in use at the other: any port is chosen again then. */
  async function listenAtBoth(requestedPort: number, tries: number): Promise<void> {
    await listen(ipv4, requestedPort, "127.0.0.1");
    try {
      await listenIfSupported(ipv6, port());
    } catch (error) {
      await new Promise((resolve) => ipv4.close(resolve));
      if (requestedPort !== 0 || tries <= 1) throw error;
      await listenAtBoth(requestedPort, tries - 1);
    }
  }

  return {
    port,
    async start(requestedPort, fail) {
      await listenAtBoth(requestedPort, MAX_PORT_TRIES);
      for (const { server } of servers) server.on("error", fail);
    },
    async close() {
      for (const { server, connections } of servers) if (server.listening) await connections.close();
    },
  };
}

/**
 * Continues without IPv6 when the machine has none. Fails when another program uses the port: it would answer
 * calls that are meant for the sandbox.
 */
async function listenIfSupported(server: Server, port: number): Promise<void> {
  try {
    await listen(server, port, "::1");
  } catch (error) {
    if (isAddressInUse(error)) throw error;
  }
}

/** Reads the request and writes the reply, or destroys the connection when there is no reply. */
const createListener =
  (handleRequest: RequestHandler, log: Log): RequestListener =>
  async (request, response) => {
    try {
      const outcome = await handleRequest(await readRequest(request));
      if (outcome) send(response, outcome);
      else request.socket.destroy();
    } catch (error) {
      if (request.destroyed) return; // the caller has disconnected
      // The unread rest of the body would be parsed as the next request.
      if (!request.complete) response.setHeader("connection", "close");
      send(response, errorReply(error, log));
    }
  };

async function readRequest(request: IncomingMessage) {
  const { method = "GET", url: target = "/", headers, socket } = request;
  const body = await readBody(request);
  const path = target.startsWith("/") ? target : `/${target}`;
  return { method, url: new URL(`http://localhost:${socket.localPort}${path}`), headers, body };
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(toJson(body));
  response.writeHead(status, {
    "content-type": "application/json; charset=UTF-8",
    "content-length": bytes.length,
    ...headers,
  });
  response.end(bytes);
}

type RequestHandler = (request: ReceivedRequest) => Promise<Outcome>;

function createRequestHandler(parts: ServerParts): RequestHandler {
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
  parts: ServerParts,
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

async function answer(request: SandboxRequest, { routes, graph }: ServerParts): Promise<Reply> {
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

const MAX_BATCH_CALLS = 50;

const isBatch = ({ method, url }: Pick<ReceivedRequest, "method" | "url">): boolean =>
  method === "POST" && url.pathname === "/";

/** Answers several calls in one request. Each is handled, recorded and met by faults like a request of its own. */
async function answerBatch(request: SandboxRequest, handle: RequestHandler): Promise<Reply> {
  const calls = request.params.list("batch") ?? [];
  if (calls.length === 0) throw invalidParameter("The parameter batch must be a list of calls");
  if (calls.length > MAX_BATCH_CALLS)
    throw invalidParameter(`Too many requests in batch message. Maximum batch size is ${MAX_BATCH_CALLS}`);
  const requests = calls.map((call) => toRequest(call, request));
  return new Reply(await Promise.all(requests.map(async (one) => toPart(await handle(one)))));
}

/** The calls use the token and proof of the request that contains them. */
function toRequest(call: unknown, { url, headers, params }: SandboxRequest): ReceivedRequest {
  const { method = "GET", relative_url, body = "" } = (call ?? {}) as Record<string, unknown>;
  const path = String(relative_url);
  if (!URL.canParse(path, url.origin)) throw invalidRelativeUrl();
  const target = new URL(path, url.origin);
  if (!/^\/v\d/.test(target.pathname)) throw invalidRelativeUrl();
  const proof = params.text("appsecret_proof");
  if (proof !== undefined && !target.searchParams.has("appsecret_proof"))
    target.searchParams.set("appsecret_proof", proof);
  return {
    method: String(method),
    url: target,
    headers: { authorization: headers.authorization, "content-type": "application/x-www-form-urlencoded" },
    body: Buffer.from(String(body)),
  };
}

const invalidRelativeUrl = () => invalidParameter("A call of the batch has no valid relative_url");

/** A call without a reply is null. */
function toPart(outcome: Outcome): unknown {
  if (!outcome) return null;
  const { status: code, headers, body } = outcome;
  return {
    code,
    headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    body: Buffer.isBuffer(body) ? body.toString() : JSON.stringify(body),
  };
}
