import { type ClientRequest, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Readable } from "node:stream";
import { got, type OptionsInit, RequestError, type Response, TimeoutError } from "got";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import type { NoAnswer } from "./call.ts";

export interface HttpRequest {
  method: "GET" | "POST" | "DELETE";
  url: URL;
  headers: Record<string, string>;
  body?: string | Readable | undefined;
  /** Milliseconds for the whole exchange. */
  deadline: number;
  /** Milliseconds that the body may take before that, where somebody else sends it, at a pace of their own. */
  uploadTimeoutMs?: number | undefined;
}

/** How one exchange ended. */
export type Exchange =
  | { outcome: "answered"; status: number; headers: Response["headers"]; text: string }
  | NoAnswer;

export interface Exchanges {
  run(request: HttpRequest): Promise<Exchange>;
  /** The same, but the answer's body is left to be read. */
  open(request: HttpRequest): Promise<OpenExchange>;
  /** Ends the connections that are kept for reuse. */
  close(): void;
}

export type OpenExchange =
  | { outcome: "answered"; status: number; headers: Response["headers"]; body: Readable }
  | NoAnswer;

/** An answer of a platform is never longer; what is, does not get into memory. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

const MAX_DOWNLOAD_MS = 10 * MINUTE;

/** A kept connection is let go before the other side drops it: a request written into a dropped one has an unknown outcome. */
const IDLE_CONNECTION_TIMEOUT_MS = 15 * SECOND;

const AGENT_OPTIONS = {
  keepAlive: true,
  maxSockets: 512,
  maxFreeSockets: 64,
  timeout: IDLE_CONNECTION_TIMEOUT_MS,
};

export function createExchanges(): Exchanges {
  const agent = { http: new HttpAgent(AGENT_OPTIONS), https: new HttpsAgent(AGENT_OPTIONS) };
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
        if (transferred > MAX_ANSWER_BYTES) pendingResponse.cancel("the answer is too long");
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
        trackSent(trace, () => body.destroy(new Error("another protocol"))),
      );
      return new Promise((resolve) => {
        body.once("response", ({ statusCode: status, headers }: Response) => {
          // With its first bytes, or its end: an answer that breaks before them is none.
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

/** A large file may take its time as long as it flows. */
const downloadTimeouts = ({ deadline }: HttpRequest) => ({
  lookup: deadline,
  connect: deadline,
  secureConnect: deadline,
  send: deadline,
  response: deadline,
  socket: deadline,
  request: MAX_DOWNLOAD_MS,
});

/** Nothing can leave before there is a connection; from then on it may have. */
const trackSent = (trace: { sent: boolean }, onUpgrade: () => void) => (request: ClientRequest) => {
  // Nobody asked for another protocol; without a listener Node ends the request and nobody hears of it.
  request.once("upgrade", (_response, socket) => {
    socket.destroy();
    onUpgrade();
  });
  request.once("socket", (socket) => {
    // Deno sends a request again by itself, a POST too, when a reused connection breaks under it. Here a send goes out once.
    request.reusedSocket = false;
    const markSent = () => {
      trace.sent = true;
    };
    if (socket.connecting) socket.once("encrypted" in socket ? "secureConnect" : "connect", markSent);
    else markSent();
  });
};

/** got hangs the whole request on its errors, tokens included: nothing of them goes further but the code. */
function toNoAnswer(error: unknown, sent: boolean): NoAnswer {
  if (error instanceof TimeoutError) return { outcome: "timeout", sent, reason: error.event };
  const reason = error instanceof RequestError ? error.code : "";
  return { outcome: "broken", sent: sent && !NOT_SENT_CODES.has(reason), reason };
}

/** These come before there is a connection, in whatever order a runtime tells of both. */
const NOT_SENT_CODES = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);
