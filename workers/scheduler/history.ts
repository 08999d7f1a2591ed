import type { Config } from "../../src/runtime/config.ts";
import { DAY } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/log.ts";
import type { Worker } from "../../src/runtime/supervise.ts";
import type { Database } from "../../src/store/database.ts";
import { dropPartitions, makePartitions } from "../../src/store/partitions.ts";
import { forgetFingerprints } from "../../src/store/record-events.ts";

type Settings = Pick<Config, "EVENT_RETENTION_DAYS">;

/** The platforms repeat for seven days what was not taken. */
const FINGERPRINTS_KEPT = 8 * DAY;
const BATCH = 10_000;
/** Each read may have to look into every partition, so there are never many more than this. */
const MOST_PARTITIONS = 60;

const spanOf = ({ EVENT_RETENTION_DAYS: days }: Settings) => Math.ceil(days / MOST_PARTITIONS) * DAY;

/** Makes room for the events to come, and drops those whose time is over. */
export async function keepHistory(settings: Settings, db: Database, now = Date.now()) {
  return {
    partitions_made: await makePartitions(db, { now, span: spanOf(settings) }),
    partitions_dropped: await dropPartitions(db, now - settings.EVENT_RETENTION_DAYS * DAY),
    fingerprints_forgotten: await forgetAllFingerprints(db),
  };
}

async function forgetAllFingerprints(db: Database): Promise<number> {
  let forgotten = 0;
  for (;;) {
    const count = await forgetFingerprints(db, FINGERPRINTS_KEPT, BATCH);
    forgotten += count;
    if (count < BATCH) return forgotten;
  }
}

/** Makes the first partitions at the start. Where that fails events wait in the default one until the next maintenance. */
export const historyRoom = (settings: Settings, db: Database, log: Log): Worker => ({
  name: "history",
  async start() {
    await makePartitions(db, { now: Date.now(), span: spanOf(settings) }).catch((error: unknown) =>
      log.warn("partitions.not_made", { err: error }),
    );
  },
});
