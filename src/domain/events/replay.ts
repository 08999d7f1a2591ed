import type { EventKey, EventType } from "../../schema/enumerations.ts";
import type { Database } from "../../store/database/database.ts";
import type { EventRow } from "../../store/events/events.ts";
import {
  type CountLimits,
  countEvents,
  type EventFilters,
  listEvents,
} from "../../store/events/list-events.ts";
import { replayDeliveries } from "../../store/events/replays.ts";
import { isImpossible } from "./search-events.ts";

export const REPLAYABLE_STATUSES = ["failed", "skipped"] as const;
export type ReplayableStatus = (typeof REPLAYABLE_STATUSES)[number];

/** Selects events of a client to deliver again. */
export interface ReplayInput {
  /** Absent: all replayable statuses. */
  status?: ReplayableStatus | undefined;
  key?: EventKey | undefined;
  type?: EventType | undefined;
  channel_id?: string | undefined;
  message_id?: string | undefined;
  /** When the events occurred; both bounds are inclusive. */
  since: Date;
  until?: Date;
}

interface ReplayOptions {
  /** Aborted when the caller has gone: no further batch is started. */
  signal?: AbortSignal;
  /** Called with the number of events processed since the last call. */
  onBatch?(count: number): void;
}

export interface ReplayCounts {
  queued: number;
  /** Events that stay unchanged, because their key is disabled or there is no webhook_url. */
  not_redispatched: number;
  /** The queued events of each type; a type without any is absent. */
  by_type: Record<string, number>;
}

const noCounts = (): ReplayCounts => ({ queued: 0, not_redispatched: 0, by_type: {} });

function addQueued(counts: ReplayCounts, type: string, queued: number): void {
  if (queued === 0) return;
  counts.queued += queued;
  counts.by_type[type] = (counts.by_type[type] ?? 0) + queued;
}

/** Small batches keep statements and row locks short. */
const BATCH_ROWS = 500;

const statusesOf = ({ status }: ReplayInput) => (status ? [status] : REPLAYABLE_STATUSES);

/** Makes failed or skipped events due again. */
export async function replayEvents(
  db: Database,
  clientId: string,
  { signal, onBatch, ...input }: ReplayInput & ReplayOptions,
): Promise<ReplayCounts> {
  const counts = noCounts();
  if (isImpossible(input)) return counts;
  for (const status of statusesOf(input))
    for await (const rows of readBatches(db, clientId, { ...input, status })) {
      if (signal?.aborted) return counts;
      const typesById = new Map(rows.filter(({ is_held }) => !is_held).map(({ id, type }) => [id, type]));
      counts.not_redispatched += rows.length - typesById.size;
      const queued = await replayDeliveries(db, clientId, { ids: [...typesById.keys()], status });
      for (const id of queued) addQueued(counts, typesById.get(id) as string, 1);
      onBatch?.(rows.length);
      if (signal?.aborted) return counts;
    }
  return counts;
}

/** Counts what replayEvents would do now. Undefined when counting reaches a limit. */
export async function countReplay(
  db: Database,
  clientId: string,
  { timeoutMs, signal, ...input }: ReplayInput & CountLimits,
): Promise<ReplayCounts | undefined> {
  const counts = noCounts();
  if (isImpossible(input)) return counts;
  const { status, ...filters } = input;
  const statuses = statusesOf(input);
  const rows = await countEvents(db, clientId, { statuses, filters, timeoutMs, signal });
  for (const { type, queued, held } of rows ?? []) {
    addQueued(counts, type, queued);
    counts.not_redispatched += held;
  }
  return rows && counts;
}

/** Oldest first, each event once: events changed meanwhile are behind the position. */
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
