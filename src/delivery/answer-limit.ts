import type { Socket } from "node:net";

/** The backend sent more bytes in answer to one request than an answer may have. */
export class AnswerTooLarge extends Error {
  override name = "AnswerTooLarge";
  readonly code = "ANSWER_TOO_LARGE";
}

/** On the wire: headers, body and chunk framing. */
const MAX_WIRE_BYTES = 131_072;
/** Parsed at once. A longer answer continues in the next turn of the event loop: tiny headers and chunks cost most. */
const MAX_SLICE_BYTES = 4_096;

/**
 * Limits what a backend can make this process parse: a connection ends when it receives too many bytes in answer to one
 * request, and is read in slices. The HTTP client limits headers and body, but accepts interim answers, trailers, chunk
 * extensions and empty lines without end.
 */
export function limitAnswers(socket: Socket): void {
  let [answerBytes, sliceBytes] = [0, 0];
  const [read, write] = [socket.read, socket.write] as [Socket["read"], (...args: unknown[]) => boolean];

  function startSlice(): void {
    sliceBytes = 0;
    if (!socket.destroyed) socket.emit("readable");
  }

  socket.write = (...args: unknown[]) => {
    answerBytes = 0; // a request begins
    return write.apply(socket, args);
  };
  socket.read = () => {
    if (socket.destroyed || sliceBytes === MAX_SLICE_BYTES) return null;
    const size = Math.min(socket.readableLength, MAX_SLICE_BYTES - sliceBytes);
    const chunk = size === 0 ? read.call(socket) : read.call(socket, size);
    if (chunk === null) return null;
    answerBytes += chunk.length;
    sliceBytes += chunk.length;
    if (sliceBytes === MAX_SLICE_BYTES) setImmediate(startSlice);
    if (answerBytes <= MAX_WIRE_BYTES) return chunk;
    socket.destroy(new AnswerTooLarge());
    return null;
  };
}
