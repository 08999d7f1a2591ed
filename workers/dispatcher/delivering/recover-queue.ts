import { WORKER_DEAD_AFTER_MS } from "../../../src/runtime/deadlines.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { type QuarantinedDelivery, recoverDeliveries } from "../../../src/store/events/recover-deliveries.ts";
import { lockSweep } from "../../../src/store/processes/sweep-lock.ts";
import { LEASE_LIMITS } from "../../../src/store/processes/workers.ts";

interface RecoveryParts {
  db: Database;
  log: Log;
  /** Milliseconds for which this worker's heartbeats have had no gap. */
  aliveForMs(): number;
  /** Called for each delivery that failed because its dispatchers died. */
  onQuarantined(delivery: QuarantinedDelivery): void;
}

/** Makes the rows of dead dispatchers wait again, or fails them. One dispatcher does it at a time. */
export async function recoverQueue({ db, log, aliveForMs, onQuarantined }: RecoveryParts): Promise<void> {
  // After a database outage every worker looks dead: one with a gap itself first waits for the others' heartbeats.
  if (aliveForMs() < WORKER_DEAD_AFTER_MS) return;
  const recovered = await db.transaction(async (tx) =>
    (await lockSweep(tx, "deliveries")).isLocked ? recoverDeliveries(tx, LEASE_LIMITS) : undefined,
  );
  if (!recovered) return;
  const { released, quarantined } = recovered;
  quarantined.forEach(onQuarantined);
  if (released + quarantined.length > 0)
    log.warn("sweep.reclaimed", { released, quarantined: quarantined.length });
}
