import { type ClientRequest, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Readable } from "node:stream";
import { got, type OptionsInit, RequestError, type Response, TimeoutError } from "got";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import type { Unanswered } from "./call.ts";

export interface HttpRequest {
  method: "GET" | "POST" | "DELETE";
  url: URL;
  headers: Record<string, string>;
  body?: string | Readable | undefined;
  /** Milliseconds for the whole exchange. */
  deadline: number;
  /** Milliseconds that the body may take before that, where somebody else sends it, at a pace of their own. */
  sending?: number | undefined;
}

/** How one exchange ended. */
export type Exchange =
  | { outcome: "answered"; status: number; headers: Response["headers"]; text: string }
  | Unanswered;

export interface Exchanges {
  run(request: HttpRequest): Promise<Exchange>;
  /** The same, but the answer's body is left to be read. */
  open(request: HttpRequest): Promise<OpenExchange>;
  /** Ends the connections that are kept for reuse. */
  close(): void;
}

export type OpenExchange =
  | { outcome: "answered"; status: number; headers: Response["headers"]; body: Readable }
  | Unanswered;

/** An answer of a platform is never longer; what is, does not get into memory. */
const LONGEST_ANSWER = 32 * 1024 * 1024;

const LONGEST_DOWNLOAD = 10 * MINUTE;

/** A kept connection is let go before the other side drops it: a request written into a dropped one has an unknown outcome. */
const KEPT_IDLE = 15 * SECOND;

const CONNECTIONS = { keepAlive: true, maxSockets: 512, maxFreeSockets: 64, timeout: KEPT_IDLE };

export function createExchanges(): Exchanges {
  const agent = { http: new HttpAgent(CONNECTIONS), https: new HttpsAgent(CONNECTIONS) };
  const client = got.extend({ agent, retry: { limit: 0 }, followRedirect: false, throwHttpErrors: false });
  const options = ({ method, headers, body }: HttpRequest) =>
    ({ method, headers, ...(body === undefined ? {} : { body }) }) satisfies OptionsInit;
  return {
    async run(request) {
      const trace = { left: false };
      const timeout = timeouts(request);
      const asked = client(request.url, { ...options(request), timeout, responseType: "text" });
      asked.on(
        "request",
        watch(trace, () => asked.cancel()),
      );
      asked.on("downloadProgress", ({ transferred }) => {
        if (transferred > LONGEST_ANSWER) asked.cancel("the answer is too long");
      });
      try {
        const { statusCode: status, headers, body: text } = await asked;
        return { outcome: "answered", status, headers, text };
      } catch (error) {
        return unanswered(error, trace.left);
      }
    },
    open(request) {
      const trace = { left: false };
      const body = client.stream(request.url, { ...options(request), timeout: openTimeouts(request) });
      body.on(
        "request",
        watch(trace, () => body.destroy(new Error("another protocol"))),
      );
      return new Promise((resolve) => {
        body.once("response", ({ statusCode: status, headers }: Response) => {
          // With its first bytes, or its end: an answer that breaks before them is none.
          body.once("readable", () => resolve({ outcome: "answered", status, headers, body }));
        });
        body.once("error", (error) => resolve(unanswered(error, trace.left)));
      });
    },
    close() {
      agent.http.destroy();
      agent.https.destroy();
    },
  };
}

function timeouts({ deadline, sending }: HttpRequest) {
  const own = Math.max(1, deadline);
  if (sending === undefined) return { request: own };
  return { lookup: own, connect: own, secureConnect: own, response: own, request: own + sending };
}

/** A large file may take its time as long as it flows. */
const openTimeouts = ({ deadline }: HttpRequest) => ({
  lookup: deadline,
  connect: deadline,
  secureConnect: deadline,
  send: deadline,
  response: deadline,
  socket: deadline,
  request: LONGEST_DOWNLOAD,
});

/** Nothing can leave before there is a connection; from then on it may have. */
const watch = (trace: { left: boolean }, onUpgrade: () => void) => (request: ClientRequest) => {
  // Nobody asked for another protocol; without a listener Node ends the request and nobody hears of it.
  request.once("upgrade", (_response, socket) => {
    socket.destroy();
    onUpgrade();
  });
  request.once("socket", (socket) => {
    // Deno sends a request again by itself, a POST too, when a reused connection breaks under it. Here a send goes out once.
    request.reusedSocket = false;
    const leave = () => {
      trace.left = true;
    };
    if (socket.connecting) socket.once("encrypted" in socket ? "secureConnect" : "connect", leave);
    else leave();
  });
};

/** got hangs the whole request on its errors, tokens included: nothing of them goes further but the code. */
function unanswered(error: unknown, left: boolean): Unanswered {
  if (error instanceof TimeoutError) return { outcome: "timeout", left, reason: error.event };
  const reason = error instanceof RequestError ? error.code : "";
  return { outcome: "broken", left: left && !NEVER_LEFT.has(reason), reason };
}

/** These come before there is a connection, in whatever order a runtime tells of both. */
const NEVER_LEFT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);
