import { doEach } from "../../src/runtime/async/run-steps.ts";
import { DAY } from "../../src/runtime/durations.ts";
import type { Database } from "../../src/store/database/database.ts";
import { dropPartitions } from "../../src/store/database/partitions.ts";
import { forgetFingerprints } from "../../src/store/events/insert-events.ts";
import { forgetKeys } from "../../src/store/tenants/idempotency-keys.ts";
import { type HistorySettings, historyClock, historySteps, roomSteps } from "../table-partitions.ts";

/** The platforms repeat for seven days what was not taken. */
const FINGERPRINTS_KEPT = 8 * DAY;
const BATCH = 10_000;

/** Makes room for what is to come, and drops that whose time is over. */
export async function keepHistory(settings: HistorySettings, db: Database, given?: number) {
  const now = given ?? (await historyClock(db));
  return doEach({
    ...roomSteps(settings, db, now),
    ...historySteps(settings, "dropped", (history, days) => dropPartitions(db, history, now - days * DAY)),
    fingerprints_forgotten: () => inBatches((limit) => forgetFingerprints(db, FINGERPRINTS_KEPT, limit)),
    idempotency_keys_forgotten: () => inBatches((limit) => forgetKeys(db, limit)),
  });
}

/** So that nobody waits long for what is deleted at once. */
async function inBatches(forget: (limit: number) => Promise<number>): Promise<number> {
  let forgotten = 0;
  for (;;) {
    const count = await forget(BATCH);
    forgotten += count;
    if (count < BATCH) return forgotten;
  }
}
