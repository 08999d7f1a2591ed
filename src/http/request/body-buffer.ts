import { releaseMemory } from "../../runtime/release-memory.ts";

/** Collects the chunks of a body in one buffer. A buffer per chunk would take many times the memory of small chunks. */
export interface BodyBuffer {
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
export function createBodyBuffer({ capacity, limit, grow }: BodyBufferOptions): BodyBuffer {
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
