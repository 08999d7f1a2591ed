import { DAY } from "../../src/runtime/durations.ts";
import type { Database } from "../../src/store/database.ts";
import { forgetKeys } from "../../src/store/idempotency-keys.ts";
import { dropPartitions } from "../../src/store/partitions.ts";
import { forgetFingerprints } from "../../src/store/record-events.ts";
import { type HistorySettings, historyClock, makeRoom } from "../history-room.ts";

/** The platforms repeat for seven days what was not taken. */
const FINGERPRINTS_KEPT = 8 * DAY;
const BATCH = 10_000;

/** Makes room for the events to come, and drops what is over. What fails of it does not keep the rest from being done. */
export async function keepHistory(settings: HistorySettings, db: Database, given?: number) {
  const now = given ?? (await historyClock(db));
  const steps = {
    partitions_made: () => makeRoom(settings, db, now),
    partitions_dropped: () => dropPartitions(db, now - settings.EVENT_RETENTION_DAYS * DAY),
    fingerprints_forgotten: () => inBatches((limit) => forgetFingerprints(db, FINGERPRINTS_KEPT, limit)),
    idempotency_keys_forgotten: () => inBatches((limit) => forgetKeys(db, limit)),
  };
  const done: Record<string, number> = {};
  const faults: unknown[] = [];
  for (const [name, step] of Object.entries(steps))
    await step().then(
      (count) => {
        done[name] = count;
      },
      (fault: unknown) => void faults.push(fault),
    );
  if (faults.length > 0) throw faults[0];
  return done;
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
