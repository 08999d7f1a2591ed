import { pause } from "../../src/runtime/async/pause.ts";
import { MINUTE, SECOND } from "../../src/runtime/durations.ts";
import { WORKER_DEAD_AFTER_MS } from "../../src/store/processes/workers.ts";

/** What all sweeps have in common. */

/** Who is dead; and nothing is in hand longer than that, whoever says they live. */
export const LEASE_LIMITS = { deadAfter: WORKER_DEAD_AFTER_MS, maxLeaseMs: 1 * MINUTE };
/** What was given to the queue so long ago and not taken up is given to it again. */
export const STRANDED_AFTER_MS = 20 * SECOND;
export const MAX_BATCH_ROWS = 500;
/** A stream is given nothing more while so much lies in it. */
export const MAX_STREAM_DEPTH = 2_000;

/** Long enough for the dispatchers to make some room. */
const BATCH_PAUSE_MS = 100;
/** So many batches in a row: the process may have to end. */
const MAX_BATCHES = 5;

/** Goes on as long as there is more. */
export async function sweepBatches(once: () => Promise<"more" | "done">): Promise<void> {
  for (let batches = 1; (await once()) === "more" && batches < MAX_BATCHES; batches++)
    await pause(BATCH_PAUSE_MS);
}
