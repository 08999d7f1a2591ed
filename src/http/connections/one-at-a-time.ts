import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sliceReads } from "./sliced-reads.ts";

type Pipelined = [request: IncomingMessage, response: ServerResponse];

/** A connection with more waiting requests is closed. */
const MAX_WAITING = 32;

/**
 * Begins the requests of a connection one after the other: the next one when the answer before it was handed to the socket.
 * While one waits, the socket is not read, so that a caller cannot fill the memory with requests and their answers. Requests
 * that arrived together are parsed together: beyond the limit they are dropped, and the connection is closed after the answer
 * in work.
 */
export function oneAtATime(listener: RequestListener): RequestListener {
  /** The waiting requests of each connection with a request in work. */
  const waitingOf = new WeakMap<Socket, Pipelined[]>();

  function begin(request: IncomingMessage, response: ServerResponse, waiting: Pipelined[]): void {
    response.on("close", () => beginNext(request.socket, waiting));
    listener(request, response);
  }

  function beginNext(socket: Socket, waiting: Pipelined[]): void {
    if (waiting.length > MAX_WAITING) {
      socket.destroySoon();
      return;
    }
    const next = socket.destroyed ? undefined : waiting.shift();
    if (!next) {
      waitingOf.delete(socket);
      return;
    }
    if (waiting.length === 0) socket.resume();
    begin(...next, waiting);
  }

  return (request, response) => {
    const { socket } = request;
    const waiting = waitingOf.get(socket);
    if (waiting) {
      socket.pause();
      if (waiting.length <= MAX_WAITING) waiting.push([request, response]);
      else sliceReads(socket);
      return;
    }
    const none: Pipelined[] = [];
    waitingOf.set(socket, none);
    begin(request, response, none);
  };
}
