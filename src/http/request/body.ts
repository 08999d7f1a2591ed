import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { SECOND } from "../../runtime/durations.ts";
import { ApiError, overloaded } from "../api-error.ts";
import { MIB } from "./body-limits.ts";
import type { BodyMemory } from "./body-memory.ts";
import type { BodyPace } from "./body-pace.ts";
import { createChunkCollector } from "./collect-chunks.ts";
import type { IncomingFile } from "./raw-body.ts";

export interface BodyRules {
  /** Maximum size in bytes. */
  limit: number;
  /** True on a route without a credential. */
  isPublic: boolean;
  memory: BodyMemory;
  /** Set when the body is read at a limited rate. */
  pace: BodyPace | undefined;
  timeouts: BodyTimeouts;
}

/** Milliseconds from the start of reading until the body is complete. */
export interface BodyTimeouts {
  small: number;
  large: number;
}

export const BODY_TIMEOUTS_MS: BodyTimeouts = { small: 30 * SECOND, large: 120 * SECOND };

/** A body beyond this size has the longer timeout. */
const MAX_SMALL_BODY_BYTES = MIB;

export interface IncomingBody {
  /**
   * Reads the whole body. Throws a 413 as soon as it exceeds `limit` bytes, and a 503 when the memory for bodies is used
   * up. Its bytes count until `release`.
   */
  read(): Promise<Buffer> | Buffer;
  release(): void;
  /** Streams the body with backpressure, under the same limit. */
  stream(): IncomingFile;
  /**
   * For a rejected request: counts and drops the rest of the body without buffering it, under the same limit.
   */
  discard(): Promise<void>;
}

/** Size is checked first: a declared length over the limit throws before anything is read. */
export function incomingBody(request: IncomingMessage, rules: BodyRules): IncomingBody {
  const { limit, isPublic, memory, pace } = rules;
  const declared = request.headers["content-length"];
  const chunked = request.headers["transfer-encoding"] !== undefined;
  if (Number(declared) > limit) throw tooLarge(limit);
  const isEmpty = !chunked && (declared === undefined || declared === "0");
  let consumed: Promise<void> | undefined;
  let content: Readable | undefined;
  let heldBytes = 0;
  const readChunks = (onChunk: (chunk: Buffer) => void): Promise<void> => {
    consumed ??= consume(request, rules, onChunk);
    return consumed;
  };
  const hold = (bytes: number): void => {
    if (!memory.add(bytes, isPublic)) throw overloaded();
    heldBytes += bytes;
  };
  /** Most small bodies arrive with their headers: listeners and a timer would cost more than reading them. */
  const hasArrived = () =>
    !chunked && !pace && !consumed && !request.destroyed && request.readableLength === Number(declared);
  const readArrived = (): Buffer => {
    hold(request.readableLength);
    consumed = Promise.resolve();
    const body = request.read() as Buffer;
    request.resume(); // emits "end"
    return body;
  };
  const readArriving = async (): Promise<Buffer> => {
    const collector = createChunkCollector(chunked ? undefined : Number(declared));
    await readChunks((chunk) => {
      hold(chunk.length);
      const delay = pace?.delayAfter(chunk.length) ?? 0;
      collector.add(chunk);
      if (delay > 0) pauseFor(request, delay);
    });
    return collector.body();
  };
  return {
    read() {
      if (isEmpty) return Buffer.alloc(0);
      assertNotCompressed(request);
      return hasArrived() ? readArrived() : readArriving();
    },
    release() {
      memory.remove(heldBytes, isPublic);
      heldBytes = 0;
    },
    stream() {
      assertNotCompressed(request);
      content = streamWithBackpressure(request, readChunks);
      const size = chunked ? undefined : Number(declared ?? 0);
      return { type: request.headers["content-type"] ?? "", size, content };
    },
    async discard() {
      content?.destroy();
      if (chunked) await readChunks(() => {});
      else if (request.destroyed && !request.complete) throw incomplete();
    },
  };
}

function pauseFor(request: IncomingMessage, ms: number): void {
  request.pause();
  setTimeout(() => request.resume(), ms);
}

function assertNotCompressed({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding !== "identity")
    throw new ApiError("unsupported_media_type", "The body must not be compressed");
}

/**
 * Pauses the request while the reader's buffer is full. When the reader stops, the rest of the body is
 * dropped.
 */
function streamWithBackpressure(
  request: IncomingMessage,
  readChunks: (onChunk: (chunk: Buffer) => void) => Promise<void>,
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

function consume(
  request: IncomingMessage,
  { limit, timeouts }: BodyRules,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const consumed = new Promise<void>((resolve, reject) => {
    // The sender may disconnect during authentication; its events have then been emitted already.
    if (request.destroyed) return reject(incomplete());
    // Drops the rest of the body, so that the sender can finish and read the response.
    const refuse = (refusal: unknown) => {
      reject(refusal);
      request.off("data", onData).resume();
    };
    const setTimer = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => refuse(timedOut()), ms - (performance.now() - startedAt));
    };
    let size = 0;
    let isLarge = Number(request.headers["content-length"]) > MAX_SMALL_BODY_BYTES;
    setTimer(isLarge ? timeouts.large : timeouts.small);
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_SMALL_BODY_BYTES && !isLarge) {
        isLarge = true;
        setTimer(timeouts.large);
      }
      try {
        if (size > limit) throw tooLarge(limit);
        onChunk(chunk);
      } catch (refusal) {
        refuse(refusal);
      }
    };
    // An aborted request emits "close" without "end"; a complete one emits "close" later.
    request
      .on("data", onData)
      .on("end", resolve)
      .on("close", () => request.complete || reject(incomplete()));
  });
  return consumed.finally(() => clearTimeout(timer));
}

const incomplete = () => new ApiError("validation_failed", "The request ended before its body was complete");

const tooLarge = (limit: number) =>
  new ApiError("payload_too_large", `The body is larger than ${limit} bytes`);

/** The connection is closed: the rest of the body would be read as the next request. */
const timedOut = () =>
  new ApiError("request_timeout", "The body did not arrive in time", { headers: { Connection: "close" } });
