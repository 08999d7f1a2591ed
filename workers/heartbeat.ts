import { repeat } from "../src/runtime/async/repeat.ts";
import { within } from "../src/runtime/async/with-timeout.ts";
import { SECOND } from "../src/runtime/durations.ts";
import type { Log } from "../src/runtime/logging/log.ts";
import type { Worker } from "../src/runtime/supervise.ts";
import type { Database } from "../src/store/database/database.ts";
import { beat, removeWorker } from "../src/store/processes/workers.ts";

const EVERY = 2 * SECOND;
/** Longer between two beats is a gap: the database was away, or this process stood still. */
const GAP = 3 * EVERY;

/** Without it the others wait until it has been silent for long enough. */
const LAST_WORD = 1 * SECOND;

interface HeartbeatParts {
  id: string;
  /** Which kind of process it is. */
  process: "dispatcher" | "scheduler";
  db: Database;
  log: Log;
  /** Milliseconds of a clock that nobody sets. */
  now?: () => number;
}

interface Heartbeat extends Worker {
  /** For how many milliseconds it has beaten without a gap. */
  steadyFor(): number;
}

/** Renews this worker's row in `workers`. A beat that fails is made up for by the next one, or others take over. */
export function heartbeat({
  id,
  process,
  db,
  log,
  now = () => performance.now(),
}: HeartbeatParts): Heartbeat {
  let since: number | undefined;
  let last = 0;
  const isAlive = () => since !== undefined && now() - last < GAP;

  async function pulse(): Promise<void> {
    await beat(db, id, process);
    if (!isAlive()) since = now();
    last = now();
  }

  const beating = repeat({ name: "heartbeat", every: EVERY, work: pulse, log });
  return {
    name: "heartbeat",
    async start(lifecycle) {
      // Before anything is claimed in its name; while the database is away nothing is.
      await pulse().catch(() => {});
      log.info("heartbeat.started", { worker: id }); // by this name the others speak of it
      await beating.start?.(lifecycle);
    },
    async close() {
      const complain = (error: unknown) => log.warn("heartbeat.not_removed", { worker: id, err: error });
      const late = () => complain(new Error("the database does not answer"));
      const removed = Promise.resolve(beating.close?.()).then(() => removeWorker(db, id));
      await within(LAST_WORD, removed, late).catch(complain);
    },
    steadyFor: () => (isAlive() ? now() - (since as number) : 0),
  };
}
