import { type ClientRequest, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { got, type OptionsInit, RequestError, type Response, TimeoutError } from "got";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import { type Exchanges, type HttpRequest, MAX_ANSWER_BYTES, NOT_SENT_CODES, type NoAnswer } from "./call.ts";

const MAX_DOWNLOAD_MS = 10 * MINUTE;

/**
 * Idle connections close before the platform drops them: a request written to a dropped connection has an
 * unknown outcome.
 */
const IDLE_CONNECTION_TIMEOUT_MS = 15 * SECOND;

const AGENT_OPTIONS = {
  keepAlive: true,
  maxFreeSockets: 64,
  timeout: IDLE_CONNECTION_TIMEOUT_MS,
};

/** Runs exchanges whose bodies are streams, up or down. */
export function createStreamedExchanges(maxSockets: number): Exchanges {
  const agentOptions = { ...AGENT_OPTIONS, maxSockets };
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
        return toNoAnswer(error, trace.sent);
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
        body.once("error", (error) => resolve(toNoAnswer(error, trace.sent)));
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

/** Keeps only the error code: got's errors contain the whole request, including tokens. */
function toNoAnswer(error: unknown, sent: boolean): NoAnswer {
  if (error instanceof TimeoutError) return { outcome: "timeout", sent, reason: error.event };
  const reason = error instanceof RequestError ? error.code : "";
  return { outcome: "broken", sent: sent && !NOT_SENT_CODES.has(reason), reason };
}
