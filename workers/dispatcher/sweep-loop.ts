import { pause } from "../../src/runtime/async/pause.ts";
import { MINUTE, SECOND } from "../../src/runtime/durations.ts";
import { DEAD_AFTER } from "../../src/store/processes/workers.ts";

/** What all sweeps have in common. */

/** Who is dead; and nothing is in hand longer than that, whoever says they live. */
export const SILENCE = { deadAfter: DEAD_AFTER, longest: 1 * MINUTE };
/** What was given to the queue so long ago and not taken up is given to it again. */
export const STRANDED_AFTER = 20 * SECOND;
export const BATCH = 500;
/** A stream is given nothing more while so much lies in it. */
export const FULL = 2_000;

/** Long enough for the dispatchers to make some room. */
const BREATH = 100;
/** So many batches in a row: the process may have to end. */
const MOST_BATCHES = 5;

/** Goes on as long as there is more. */
export async function sweepOn(once: () => Promise<"more" | "done">): Promise<void> {
  for (let batches = 1; (await once()) === "more" && batches < MOST_BATCHES; batches++) await pause(BREATH);
}
