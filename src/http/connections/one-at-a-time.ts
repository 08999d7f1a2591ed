import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sliceReads } from "./sliced-reads.ts";

type Pipelined = [request: IncomingMessage, response: ServerResponse];

/** The state of a connection is kept in its socket: a map would cost more for each request. */
const IS_BUSY = Symbol("a request is in work");
const WAITING = Symbol("waiting requests");
const HAS_DROPPED = Symbol("requests were dropped");

interface PipelinedSocket extends Socket {
  [IS_BUSY]?: boolean;
  [WAITING]?: Pipelined[];
  [HAS_DROPPED]?: boolean;
}

/** With more waiting requests, the connection is closed. */
const MAX_WAITING = 32;

/**
 * Begins the requests of a connection one after the other: the next one when the answer before it was handed to the socket.
 * While one waits, the socket is not read, so that a caller cannot fill the memory with requests and their answers. Requests
 * that arrived together are parsed together: beyond the limit they are dropped, and the connection is closed after the answer
 * in work.
 */
export function oneAtATime(listener: RequestListener): RequestListener {
  function begin(request: IncomingMessage, response: ServerResponse): void {
    response.on("close", () => end(request.socket));
    listener(request, response);
  }

  /** The next one begins in a later turn of the event loop: many connections with many requests must not make one long turn. */
  function end(socket: PipelinedSocket): void {
    if (socket[WAITING]?.length) setImmediate(beginNext, socket, socket[WAITING]);
    else socket[IS_BUSY] = false;
  }

  function beginNext(socket: PipelinedSocket, waiting: Pipelined[]): void {
    if (socket.destroyed) return;
    if (socket[HAS_DROPPED]) {
      socket.destroySoon();
      return;
    }
    const next = waiting.shift() as Pipelined;
    if (waiting.length === 0) socket.resume();
    begin(...next);
  }

  return (request, response) => {
    const socket: PipelinedSocket = request.socket;
    if (!socket[IS_BUSY]) {
      socket[IS_BUSY] = true;
      begin(request, response);
      return;
    }
    socket.pause();
    socket[WAITING] ??= [];
    if (socket[WAITING].length < MAX_WAITING) {
      socket[WAITING].push([request, response]);
      return;
    }
    socket[HAS_DROPPED] = true;
    sliceReads(socket);
  };
}
