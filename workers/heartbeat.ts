import { repeat } from "../src/runtime/async/repeat.ts";
import { withTimeout } from "../src/runtime/async/with-timeout.ts";
import { HEARTBEAT_INTERVAL_MS, MAX_HEARTBEAT_GAP_MS } from "../src/runtime/deadlines.ts";
import { SECOND } from "../src/runtime/durations.ts";
import type { Log } from "../src/runtime/logging/log.ts";
import type { Worker } from "../src/runtime/supervise.ts";
import type { Database } from "../src/store/database/database.ts";
import { recordHeartbeat, removeWorker } from "../src/store/processes/workers.ts";

/** Without it the others wait until it has been silent for long enough. */
const REMOVE_TIMEOUT_MS = 1 * SECOND;

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
  aliveForMs(): number;
}

/** Renews this worker's row in `workers`. A beat that fails is made up for by the next one, or others take over. */
export function heartbeat({
  id,
  process,
  db,
  log,
  now = () => performance.now(),
}: HeartbeatParts): Heartbeat {
  let aliveSince: number | undefined;
  let lastBeatAt = 0;
  const isAlive = () => aliveSince !== undefined && now() - lastBeatAt < MAX_HEARTBEAT_GAP_MS;

  async function renew(): Promise<void> {
    await recordHeartbeat(db, id, process);
    if (!isAlive()) aliveSince = now();
    lastBeatAt = now();
  }

  const renewLoop = repeat({ name: "heartbeat", intervalMs: HEARTBEAT_INTERVAL_MS, work: renew, log });
  return {
    name: "heartbeat",
    async start(lifecycle) {
      // Before anything is claimed in its name; while the database is away nothing is.
      await renew().catch(() => {});
      log.info("heartbeat.started", { worker: id }); // by this name the others speak of it
      await renewLoop.start?.(lifecycle);
    },
    async close() {
      const logRemoveFailed = (error: unknown) =>
        log.warn("heartbeat.remove_failed", { worker: id, err: error });
      const onTimeout = () => logRemoveFailed(new Error("the database does not answer"));
      const removed = Promise.resolve(renewLoop.close?.()).then(() => removeWorker(db, id));
      await withTimeout(REMOVE_TIMEOUT_MS, removed, onTimeout).catch(logRemoveFailed);
    },
    aliveForMs: () => (isAlive() ? now() - (aliveSince as number) : 0),
  };
}
