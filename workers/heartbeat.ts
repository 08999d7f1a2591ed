import { withTimeout } from "../src/runtime/async/timeouts-and-retries.ts";
import { HEARTBEAT_INTERVAL_MS, MAX_HEARTBEAT_GAP_MS } from "../src/runtime/deadlines.ts";
import { SECOND } from "../src/runtime/durations.ts";
import type { Log } from "../src/runtime/log.ts";
import type { Worker } from "../src/runtime/supervise.ts";
import { repeat } from "../src/runtime/supervise.ts";
import type { Database } from "../src/store/database/database.ts";
import { recordHeartbeat, removeWorker } from "../src/store/processes/workers.ts";

/**
 * A worker is alive or not. A recorded heartbeat makes it alive; it stops being alive when none is recorded for
 * MAX_HEARTBEAT_GAP_MS, and then claims nothing, because others may reclaim its rows after WORKER_DEAD_AFTER_MS.
 * A failed heartbeat is repeated at the next interval. `close` removes the worker's row, so that others need not wait.
 */

/** When the removal takes longer, others wait until the heartbeat has expired. */
const REMOVE_TIMEOUT_MS = 1 * SECOND;

interface HeartbeatParts {
  id: string;
  /** `command`: the command line, while it runs a job. */
  process: "dispatcher" | "scheduler" | "command";
  db: Database;
  log: Log;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}

interface Heartbeat extends Worker {
  /** Milliseconds for which this worker's heartbeats have had no gap; 0 when it is not alive. */
  aliveForMs(): number;
  /** Workers of the same process that were alive at the last heartbeat, this one included. */
  aliveCount(): number;
}

export function heartbeat({
  id,
  process,
  db,
  log,
  now = () => performance.now(),
}: HeartbeatParts): Heartbeat {
  let aliveSince: number | undefined;
  let lastBeatAt = 0;
  let aliveCount = 1;
  const isAlive = () => aliveSince !== undefined && now() - lastBeatAt < MAX_HEARTBEAT_GAP_MS;

  async function renew(): Promise<void> {
    aliveCount = await recordHeartbeat(db, id, process);
    if (!isAlive()) aliveSince = now();
    lastBeatAt = now();
  }

  const renewLoop = repeat({ name: "heartbeat", intervalMs: HEARTBEAT_INTERVAL_MS, work: renew, log });
  return {
    name: "heartbeat",
    async start(lifecycle) {
      // The first heartbeat precedes any claim; while the database is unavailable nothing is claimed.
      await renew().catch(() => {});
      log.info("heartbeat.started", { worker: id }); // other workers log this id when they reclaim
      await renewLoop.start?.(lifecycle);
    },
    async close() {
      const logRemoveFailed = (error: unknown) =>
        log.warn("heartbeat.remove_failed", { worker: id, err: error });
      const onTimeout = () => logRemoveFailed(new Error("the database did not answer in time"));
      const removed = Promise.resolve(renewLoop.close?.()).then(() => removeWorker(db, id));
      await withTimeout(REMOVE_TIMEOUT_MS, removed, onTimeout).catch(logRemoveFailed);
    },
    aliveCount: () => aliveCount,
    aliveForMs: () => (isAlive() ? now() - (aliveSince as number) : 0),
  };
}
