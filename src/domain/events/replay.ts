import type { EventKey } from "../../schema/enumerations.ts";
import type { Database } from "../../store/database/database.ts";
import type { EventRow } from "../../store/events/events.ts";
import { type EventFilters, listEvents } from "../../store/events/list-events.ts";
import { replayDeliveries } from "../../store/events/replays.ts";

export const REPLAYABLE_STATUSES = ["failed", "skipped"] as const;
export type ReplayableStatus = (typeof REPLAYABLE_STATUSES)[number];

/** Which events of a client are to be told again. */
export interface ReplayInput {
  /** Absent: each that can be. */
  status?: ReplayableStatus;
  key?: EventKey;
  /** When they occurred, both inclusive. */
  since: Date;
  until?: Date;
  /** Counts, and changes nothing. */
  dryRun?: boolean;
  /** Told how many have been gone through since the last time. */
  onBatch?(count: number): void;
}

export interface ReplayCounts {
  queued: number;
  /** Those that stay as they are, because their key is switched off or there is no address. */
  not_redispatched: number;
}

/** So many at a time: no statement is long, and no row is locked for long. */
const BATCH_ROWS = 2_000;

/** Makes events due again that failed or were skipped. */
export async function replayEvents(
  db: Database,
  clientId: string,
  { status, dryRun = false, onBatch, ...filters }: ReplayInput,
): Promise<ReplayCounts> {
  const counts = { queued: 0, not_redispatched: 0 };
  for (const each of status ? [status] : REPLAYABLE_STATUSES)
    for await (const rows of readBatches(db, clientId, { ...filters, status: each })) {
      const due = rows.filter(({ is_held }) => !is_held).map(({ id }) => id);
      counts.not_redispatched += rows.length - due.length;
      counts.queued += dryRun ? due.length : await replayDeliveries(db, clientId, { ids: due, status: each });
      onBatch?.(rows.length);
    }
  return counts;
}

/** The oldest first, and each once: what is changed meanwhile lies behind the position. */
async function* readBatches(
  db: Database,
  clientId: string,
  filters: EventFilters,
): AsyncGenerator<EventRow[]> {
  let rows: EventRow[];
  let before = "";
  do {
    rows = await listEvents(db, clientId, { page: { limit: BATCH_ROWS, before }, filters });
    before = rows.at(-1)?.id ?? before;
    yield rows;
  } while (rows.length > BATCH_ROWS);
}
