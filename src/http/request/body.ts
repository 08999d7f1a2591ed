import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { MessageChannel } from "node:worker_threads";
import type { Grant } from "../../runtime/async/shares.ts";
import { ApiError, CLOSE_CONNECTION } from "../api-error.ts";
import type { IncomingFile } from "../route.ts";
import type { BodyMemory, BodyPart, OpenBody } from "./body-memory.ts";
import { sliceReads } from "./sliced-reads.ts";

interface BodyRules {
  /** Maximum size in bytes. */
  limit: number;
  memory: BodyMemory;
}

/** Whose memory a body uses. */
export interface BodyOwner {
  /** The client's id; on a route without a credential, the network. */
  key: string;
  part: BodyPart;
  /** A signal that aborts when the caller disconnects. */
  callerGone(): AbortSignal;
}

export interface IncomingBody {
  /**
   * Reads the whole body, once there is memory for it in its owner's share; 503 when there is none in time. Throws a 413 as
   * soon as the body exceeds `limit` bytes. Its bytes count until `release`.
   */
  read(owner: BodyOwner): Promise<Buffer> | Buffer;
  release(): void;
  /** Streams the body with backpressure, under the same limit. */
  stream(owner: BodyOwner): Promise<IncomingFile>;
  /**
   * For a rejected request: counts and drops the rest of the body without buffering it, under the same limit.
   */
  discard(): Promise<void>;
}

/** The first buffer of a chunked body. */
const FIRST_CHUNKED_BYTES = 16_384;

/** The most that is in memory of a streamed body at a time. */
const STREAM_BYTES = 262_144;

/** Each piece of a chunked body costs processor time, however small it is. */
const MAX_SMALL_PIECES = 10_000;
const MANY_PIECES = 500;
const SMALL_PIECE_BYTES = 64;

/** Size is checked first: a declared length over the limit throws before anything is read. */
export function incomingBody(request: IncomingMessage, { limit, memory }: BodyRules): IncomingBody {
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  const declared = isChunked ? undefined : Number(request.headers["content-length"] ?? 0);
  if (declared !== undefined && declared > limit) throw tooLarge(limit);
  const isEmpty = declared === 0 || request.method === "GET" || request.method === "HEAD";
  const firstBytes = declared ?? Math.min(limit, FIRST_CHUNKED_BYTES);
  let consumed: Promise<void> | undefined;
  let content: Readable | undefined;
  let grant: Grant | undefined;

  function release(): void {
    grant?.release();
    grant = undefined;
  }

  /** Takes memory: at once, or resolves when the owner's turn comes. The body stays unread meanwhile. */
  function take({ key, part: { shares }, callerGone }: BodyOwner, bytes: number): void | Promise<void> {
    grant = shares.tryTake(key, bytes);
    if (!grant) return keep(shares.take(key, bytes, { signal: callerGone() }));
  }

  async function keep(taking: Grant | Promise<Grant>): Promise<void> {
    grant = await taking;
  }

  function readChunks({ openBodies }: BodyPart, onChunk: OnChunk): Promise<void> {
    consumed ??= consume(request, { limit, declared, openBodies, release }, onChunk);
    return consumed;
  }

  function readNow({ part }: BodyOwner): Buffer | Promise<Buffer> {
    if (isEmpty) return Buffer.alloc(0);
    // Most small bodies arrive with their headers: listeners would cost more than reading them.
    const hasArrived = !consumed && !request.destroyed && request.readableLength === declared;
    return hasArrived ? readArrived() : readArriving(part);
  }

  function readArrived(): Buffer {
    consumed = Promise.resolve();
    const body = request.read() as Buffer;
    request.resume(); // emits "end"
    return body;
  }

  async function readArriving(part: BodyPart): Promise<Buffer> {
    const grow = (bytes: number) => grant?.grow(bytes);
    const buffer = createBodyBuffer({ capacity: firstBytes, limit, grow });
    await readChunks(part, buffer.add);
    return buffer.content();
  }

  return {
    read(owner) {
      if (!isEmpty) assertNotCompressed(request);
      // Without a body too: a caller whose answers wait to be sent has to take those first.
      const waiting = take(owner, isEmpty ? 0 : firstBytes);
      return waiting ? waiting.then(() => readNow(owner)) : readNow(owner);
    },
    release,
    async stream(owner) {
      assertNotCompressed(request);
      await take(owner, Math.min(declared ?? STREAM_BYTES, STREAM_BYTES));
      content = streamWithBackpressure(request, (onChunk) => readChunks(owner.part, onChunk));
      return { type: request.headers["content-type"] ?? "", size: declared, content };
    },
    async discard() {
      content?.destroy();
      if (isChunked) await readChunks(memory.partOf("public", ""), () => {});
      else if (request.destroyed && !request.complete) throw incomplete();
    },
  };
}

/** May return a promise, until which no further chunk is read. */
type OnChunk = (chunk: Buffer) => void | Promise<void>;

function assertNotCompressed({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding !== "identity")
    throw new ApiError("unsupported_media_type", "The body must not be compressed");
}

/** Collects the chunks of a body in one buffer. A buffer per chunk would take many times the memory of small chunks. */
interface BodyBuffer {
  /** A promise while there is no memory for the chunk yet; the next one must not be added before it resolves. */
  add(chunk: Buffer): void | Promise<void>;
  /** The whole body. */
  content(): Buffer;
}

interface BodyBufferOptions {
  /** Bytes for which there is memory: the declared length, or less for a chunked body. */
  capacity: number;
  limit: number;
  /** Takes memory for more bytes. */
  grow(bytes: number): void | Promise<void>;
}

/** A buffer that is too small is replaced by one of twice its size. */
function createBodyBuffer({ capacity, limit, grow }: BodyBufferOptions): BodyBuffer {
  let buffer: Buffer | undefined;
  let maxLength = capacity;
  let length = 0;

  function place(chunk: Buffer): void {
    buffer ??= Buffer.allocUnsafeSlow(maxLength);
    length += chunk.copy(buffer, length);
    releaseMemory(chunk);
  }

  function enlarge(newLength: number): void {
    const larger = Buffer.allocUnsafeSlow(newLength);
    buffer?.copy(larger, 0, 0, length);
    if (buffer) releaseMemory(buffer);
    [buffer, maxLength] = [larger, newLength];
  }

  return {
    add(chunk) {
      const needed = length + chunk.length;
      if (needed <= maxLength) return place(chunk);
      const newLength = Math.min(limit, Math.max(2 * maxLength, needed));
      const addToLarger = () => {
        enlarge(newLength);
        place(chunk);
      };
      const waiting = grow(newLength - maxLength);
      return waiting ? waiting.then(addToLarger) : addToLarger();
    },
    content: () => (buffer ?? Buffer.alloc(0)).subarray(0, length),
  };
}

const { port1: discarding } = new MessageChannel();
discarding.close();

/** Deno keeps the memory of a message to a closed port. */
const canRelease = !("deno" in process.versions);

/**
 * Frees the memory of bytes that are no longer needed, which then have length 0. Without this, it stays allocated until
 * a garbage collection, and uploads of megabytes cause several of those per second. Bytes that share their memory stay.
 */
export function releaseMemory({ buffer, byteLength }: Uint8Array): void {
  // A message to a closed port is dropped together with the memory that it transfers.
  if (canRelease && byteLength === buffer.byteLength)
    discarding.postMessage(undefined, [buffer as ArrayBuffer]);
}

/**
 * Pauses the request while the reader's buffer is full. When the reader stops, the rest of the body is
 * dropped.
 */
function streamWithBackpressure(
  request: IncomingMessage,
  readChunks: (onChunk: OnChunk) => Promise<void>,
): Readable {
  const content = new Readable({
    read: () => void request.resume(),
    destroy(error, done) {
      request.resume(); // lets the sender finish and read the response
      done(error);
    },
  });
  content.on("error", () => {}); // the handler may have stopped reading; the pipeline detects the failure itself
  readChunks((chunk) => {
    if (!content.destroyed && !content.push(chunk)) request.pause();
  }).then(
    () => content.push(null),
    (error) => content.destroy(error),
  );
  return content;
}

interface ConsumeOptions extends Pick<BodyRules, "limit">, Pick<BodyPart, "openBodies"> {
  declared: number | undefined;
  /** Frees the memory of the body. */
  release(): void;
}

function consume(
  request: IncomingMessage,
  { limit, declared, openBodies, release }: ConsumeOptions,
  onChunk: OnChunk,
): Promise<void> {
  let pieces = 0;
  const consumed = new Promise<void>((resolve, reject) => {
    // The sender may disconnect during authentication; its events have then been emitted already.
    if (request.destroyed) return reject(incomplete());
    // Drops the rest of the body, so that the sender can finish and read the response.
    const refuse = (refusal: unknown) => {
      openBodies.delete(body);
      release();
      reject(refusal);
      request.off("data", onData).resume();
    };
    const body: OpenBody = {
      declared,
      size: 0,
      ageMs: 0,
      readMs: 0,
      isPaused: () => request.isPaused(),
      end: refuse,
    };
    const isFragmented = () => declared === undefined && body.size < pieces * SMALL_PIECE_BYTES;
    const add = (chunk: Buffer): void => {
      body.size += chunk.length;
      pieces += 1;
      if (body.size > limit) throw tooLarge(limit, CLOSE_CONNECTION);
      if (pieces === MANY_PIECES && isFragmented()) sliceReads(request.socket);
      if (pieces > MAX_SMALL_PIECES && isFragmented()) throw tooManyPieces();
      const waiting = onChunk(chunk);
      if (!waiting) return;
      request.pause();
      waiting.then(() => request.resume(), refuse);
    };
    const onData = (chunk: Buffer) => {
      try {
        add(chunk);
      } catch (refusal) {
        refuse(refusal);
      }
    };
    openBodies.add(body);
    let isEnded = false;
    // An aborted request emits "close" without "end"; a complete one emits "close" later.
    request
      .on("data", onData)
      .on("end", () => {
        isEnded = true;
        openBodies.delete(body);
        resolve();
      })
      .on("close", () => isEnded || refuse(incomplete()));
  });
  return consumed;
}

const incomplete = () => new ApiError("validation_failed", "The request ended before its body was complete");

const tooLarge = (limit: number, options = {}) =>
  new ApiError("payload_too_large", `The body is larger than ${limit} bytes`, options);

const tooManyPieces = () =>
  new ApiError(
    "validation_failed",
    "The body has too many small chunks: send it in larger ones",
    CLOSE_CONNECTION,
  );
