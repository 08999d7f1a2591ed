import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Log } from "../../runtime/logging/log.ts";
import type { Reply } from "../wire/call.ts";
import { toJson } from "../wire/json.ts";
import { readBody } from "../wire/read-params.ts";
import { errorReply } from "./error-reply.ts";
import type { RequestHandler } from "./request-handler.ts";

/** Reads the request and writes the reply, or destroys the connection when there is no reply. */
export const createListener =
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
