import { releaseMemory } from "../../runtime/release-memory.ts";

/** Collects the chunks of a body. */
export interface ChunkCollector {
  add(chunk: Buffer): void;
  /** The whole body. */
  body(): Buffer;
}

/** Smaller bodies arrive in few chunks, which are cheap to join. */
const MIN_PLACED_BYTES = 128 * 1_024;

/**
 * A large body of declared size is written to its place as it arrives: it is never in memory twice, and joining its chunks
 * does not delay other requests.
 */
export const createChunkCollector = (declaredBytes: number | undefined): ChunkCollector =>
  declaredBytes === undefined || declaredBytes < MIN_PLACED_BYTES
    ? joiningCollector()
    : placingCollector(declaredBytes);

function joiningCollector(): ChunkCollector {
  const chunks: Buffer[] = [];
  return {
    add: (chunk) => void chunks.push(chunk),
    body: () => (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)),
  };
}

function placingCollector(declaredBytes: number): ChunkCollector {
  let whole: Buffer | undefined;
  let length = 0;
  return {
    add(chunk) {
      whole ??= Buffer.allocUnsafeSlow(declaredBytes);
      length += chunk.copy(whole, length);
      releaseMemory(chunk);
    },
    body: () => (whole ?? Buffer.alloc(0)).subarray(0, length),
  };
}
