import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { LRUCache } from "lru-cache";
import { nextSlice } from "../../runtime/async/time-slices.ts";
import { MINUTE } from "../../runtime/durations.ts";
import { networkOf } from "../../runtime/http/addresses.ts";

/**
 * Node parses all of a read, up to 64 KiB, before any limit can act: thousands of tiny chunks or of pipelined requests block
 * the event loop for some 30 ms, and many connections add up. Once a network has sent such a read, all its connections are
 * parsed in slices for some time. The others are not: it takes a little more processor time.
 */
const slicedNetworks = new LRUCache<string, true>({ max: 10_000, ttl: 10 * MINUTE });

const connections = new Set<Socket>();
const slicedSockets = new WeakSet<Socket>();

const SLICE_BYTES = 1_024;
/** Ordinary content is parsed much faster, and then in one turn. */
const MAX_SLICE_MS = 0.5;

/** Makes the connections of a server ready for sliceReads. */
export function watchReads(server: Server): void {
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    if (slicedNetworks.has(networkAt(socket))) parseInSlices(socket);
  });
}

/** Call it for a connection that sent a read that is expensive to parse. */
export function sliceReads(socket: Socket): void {
  const network = networkAt(socket);
  if (slicedNetworks.has(network)) return;
  slicedNetworks.set(network, true);
  for (const other of connections) if (networkAt(other) === network) parseInSlices(other);
}

const networkAt = ({ remoteAddress = "" }: Socket): string => networkOf(remoteAddress);

type Parse = (data: Buffer) => void;

/** A listener for data makes Node pass the content through JavaScript; its own listener is its parser. */
function parseInSlices(socket: Socket): void {
  const [listener] = socket.listeners("data") as Parse[];
  if (!listener || slicedSockets.has(socket)) return;
  slicedSockets.add(socket);
  replaceParser(socket, listener);
}

function replaceParser(socket: Socket, parse: Parse): void {
  const queue: Buffer[] = [];
  let isParsing = false;

  async function parseRest(): Promise<void> {
    isParsing = true;
    socket.pause();
    do await (isHeld(socket) ? untilReleased(socket) : nextSlice());
    while (parseForAWhile(socket, queue, parse));
    isParsing = false;
    if (!isHeldByBody(socket)) socket.resume(); // else Node resumes it when the body is read
  }

  socket.off("data", parse).on("data", (data) => {
    queue.push(data);
    if (!isParsing && parseForAWhile(socket, queue, parse)) void parseRest();
  });
  // Node resumes the socket when a part of the body is read; the queue would grow.
  socket.on("resume", () => {
    if (isParsing) socket.pause();
  });
}

/** Returns true when there is more to parse. */
function parseForAWhile(socket: Socket, queue: Buffer[], parse: Parse): boolean {
  const endsAt = performance.now() + MAX_SLICE_MS;
  while (queue.length > 0 && hasParser(socket) && !isHeld(socket) && performance.now() < endsAt)
    parse(takeSlice(queue));
  return queue.length > 0 && hasParser(socket);
}

function takeSlice(queue: Buffer[]): Buffer {
  const data = queue.shift() as Buffer;
  if (data.length > SLICE_BYTES) queue.unshift(data.subarray(SLICE_BYTES));
  return data.subarray(0, SLICE_BYTES);
}

/** False when the connection has ended, or after CONNECT: Node then uses the parser for another connection. */
const hasParser = (socket: ParsedSocket): boolean => !socket.destroyed && socket.parser != null;

/** Fields that Node keeps at the socket of a server. */
interface ParsedSocket extends Socket {
  _paused?: boolean;
  parser?: { incoming?: IncomingMessage | null } | null;
}

/** True while Node's parser must not get anything. */
const isHeld = (socket: ParsedSocket): boolean => isHeldByAnswers(socket) || isHeldByBody(socket);

/** The caller has not taken its answers. */
const isHeldByAnswers = ({ _paused }: ParsedSocket): boolean => _paused === true;

/** The body in progress is not read: it would collect in memory. */
function isHeldByBody({ parser }: ParsedSocket): boolean {
  const incoming = parser?.incoming;
  if (!incoming || incoming.complete || incoming.destroyed) return false;
  return incoming.readableLength >= incoming.readableHighWaterMark;
}

/** Node resumes a paused socket when the body is read, or when the answers are taken. */
const untilReleased = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const release = () => {
      for (const event of RELEASING_EVENTS) socket.off(event, release);
      resolve();
    };
    for (const event of RELEASING_EVENTS) socket.on(event, release);
  });

const RELEASING_EVENTS = ["resume", "drain", "close"] as const;
