import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { ApiError } from "../api-error.ts";
import type { IncomingFile } from "../route.ts";

export const MIB = 1_048_576;

export interface IncomingBody {
  /** Reads the whole body. Throws a 413 as soon as it exceeds `limit` bytes. */
  read(): Promise<Buffer>;
  /** Streams the body with backpressure, under the same limit. */
  stream(): IncomingFile;
  /**
   * For a rejected request: counts and drops the rest of the body without buffering it, under the same limit.
   */
  discard(): Promise<void>;
}

/** Size is checked first: a declared length over the limit throws before anything is read. */
export function incomingBody(request: IncomingMessage, limit: number): IncomingBody {
  const declared = request.headers["content-length"];
  const chunked = request.headers["transfer-encoding"] !== undefined;
  if (Number(declared) > limit) throw tooLarge(limit);
  const isEmpty = !chunked && (declared === undefined || declared === "0");
  let consumed: Promise<void> | undefined;
  let content: Readable | undefined;
  const readChunks = (onChunk: (chunk: Buffer) => void): Promise<void> => {
    consumed ??= consume(request, limit, onChunk);
    return consumed;
  };
  return {
    async read() {
      if (isEmpty) return Buffer.alloc(0);
      assertNotCompressed(request);
      const chunks: Buffer[] = [];
      await readChunks((chunk) => chunks.push(chunk));
      return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
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

function consume(request: IncomingMessage, limit: number, onChunk: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // The sender may disconnect during authentication; its events have then been emitted already.
    if (request.destroyed) return reject(incomplete());
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) return onChunk(chunk);
      reject(tooLarge(limit));
      request.off("data", onData).resume(); // drops the rest, so that the sender can finish and read the response
    };
    // An aborted request emits "close" without "end"; a complete one emits "close" later.
    request
      .on("data", onData)
      .on("end", resolve)
      .on("close", () => request.complete || reject(incomplete()));
  });
}

const incomplete = () => new ApiError("validation_failed", "The request ended before its body was complete");

const tooLarge = (limit: number) =>
  new ApiError("payload_too_large", `The body is larger than ${limit} bytes`);
