import { Piscina } from "piscina";
import type { DecodeOutcome, ImageDecoder } from "../../domain/ads/base64-images.ts";
import { createShares } from "../../runtime/async/shares.ts";
import { SECOND } from "../../runtime/durations.ts";
import { toTransferable } from "../../runtime/images.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import { threadFile } from "../../runtime/package-root.ts";
import type { Worker } from "../../runtime/supervise.ts";

/**
 * Threads that decode images. The pool is created at the first upload and grows with the load. A thread that dies fails
 * its own upload and is replaced. A pool whose threads cannot start is dropped, and the next upload creates another one.
 * `close` ends the threads; uploads that still wait fail.
 */
type ImageThreads = ImageDecoder & Worker;

/** Uploads of one client that wait; decoding the largest image takes about 0.1 s. */
const MAX_WAITING_PER_CLIENT = 16;
const MAX_WAIT_MS = 10 * SECOND;

/** Several times the memory of the largest body as text; a thread that needs more dies instead of the process. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 128 };

const IDLE_THREAD_TIMEOUT_MS = 30 * SECOND;

interface ImageThreadsOptions {
  threads: number;
  log: Log;
  metrics: Pick<Metrics, "imageDecodeSeconds">;
  /** The file that the threads run. */
  file?: string;
}

export function createImageThreads({
  threads,
  log,
  metrics,
  file = threadFile("decode-image"),
}: ImageThreadsOptions): ImageThreads {
  const shares = createShares({
    capacity: threads,
    maxWaitingPerKey: MAX_WAITING_PER_CLIENT,
    maxWaitMs: MAX_WAIT_MS,
  });
  let pool: Piscina | undefined;
  let isClosed = false;

  function openPool(): Piscina {
    const opened = new Piscina({
      filename: file,
      name: "decodeImage",
      minThreads: 1,
      maxThreads: threads,
      idleTimeout: IDLE_THREAD_TIMEOUT_MS,
      resourceLimits: RESOURCE_LIMITS,
    });
    // Emitted when a thread fails without an upload, so it could not start.
    opened.on("error", (error) => {
      log.error("image_threads.failed", { err: error });
      if (pool === opened) pool = undefined;
      void opened.destroy();
    });
    return opened;
  }

  async function run(body: Buffer): Promise<DecodeOutcome> {
    if (isClosed) throw new Error("the image threads are closed");
    pool ??= openPool();
    const bytes = toTransferable(body);
    const stopTimer = metrics.imageDecodeSeconds.startTimer();
    const outcome: DecodeOutcome = await pool.run(bytes, { transferList: [bytes] });
    stopTimer();
    return outcome;
  }

  return {
    name: "image-threads",
    decode: (body, { clientId, signal }) => shares.run(clientId, 1, () => run(body), { signal }),
    async close() {
      isClosed = true;
      await pool?.destroy();
    },
  };
}
