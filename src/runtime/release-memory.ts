import { MessageChannel } from "node:worker_threads";

const { port1: discarding } = new MessageChannel();
discarding.close();

/** Deno keeps the memory of a message to a closed port. */
const canRelease = !("deno" in process.versions);

/**
 * Frees the memory of bytes that are not needed any more, which then have length 0. Without this, it stays allocated until
 * a garbage collection, and uploads of megabytes cause several of those per second. Bytes that share their memory stay.
 */
export function releaseMemory({ buffer, byteLength }: Uint8Array): void {
  // A message to a closed port is dropped together with the memory that it transfers.
  if (canRelease && byteLength === buffer.byteLength)
    discarding.postMessage(undefined, [buffer as ArrayBuffer]);
}
