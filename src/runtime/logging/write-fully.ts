import { writeSync } from "node:fs";

const RETRY_DELAY_MS = 10;
const MAX_RETRIES = 100;

/**
 * Writes the text before it returns, for a thread that is about to kill the process. Gives up after 100 retries: a reader
 * that does not read must not keep the process alive.
 */
export function writeFully(fd: number, text: string, maxRetries = MAX_RETRIES): void {
  let rest = Buffer.from(text);
  for (let retries = 0; rest.length > 0 && retries < maxRetries; ) {
    const written = tryWrite(fd, rest);
    rest = rest.subarray(written);
    if (written > 0) continue;
    retries += 1;
    sleep(RETRY_DELAY_MS);
  }
}

/** Returns the number of bytes written; 0 while a non-blocking pipe is full. */
function tryWrite(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if ((error as { code?: unknown }).code === "EAGAIN") return 0;
    throw error;
  }
}

const sleep = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
