import { type Queryable, sql } from "../database/database.ts";
import { byNewest, type PageRequest, readPage } from "../database/paging.ts";

/** How many messages of a batch have each status; the sum is `accepted` of the batch. */
export interface BatchCounts {
  scheduled: number;
  queued: number;
  sending: number;
  accepted: number;
  sent: number;
  delivered: number;
  read: number;
  failed: number;
  unknown: number;
  cancelled: number;
}

export interface BatchRow extends BatchCounts {
  client_id: string;
  id: string;
  channel_id: string;
  platform: string;
  name: string | null;
  type: string;
  batch_status: string;
  pause_reason: string | null;
  send_at: Date | null;
  finished_at: Date | null;
  channel_external_ref: string | null;
}

/** Statuses that are counted as they are stored; messages that are `queued` may be `sending`. */
const COUNTED_STATUSES = [
  "scheduled",
  "accepted",
  "sent",
  "delivered",
  "read",
  "failed",
  "unknown",
  "cancelled",
];

const countOf = (status: string) => `(count(*) filter (where m.status = '${status}'))::integer`;

/** A subquery, which looks each message up by its key: a join might read all messages of the batch for each send. */
const STATUS_OF_SEND = "(select m.status from messages m where m.client_id = s.client_id and m.id = s.id)";

/** SQL: the sends `s` of the row `batch` of batches, in the words of their index. */
export const fromSendsOf = (batch: string): string => `
    from sends s
    where s.client_id = ${batch}.client_id
    and s.batch_id = ${batch}.id
    and s.batch_id <> ''
    and s.state <> 'unknown'`;

/**
 * Columns of the batch `b` and the counts of its messages, all in the snapshot of one statement. The messages are read once,
 * without grouping: that would sort them. Few sends are started and not settled.
 */
const FIND = sql(`
  with wanted as materialized (
    select b.*
    from unnest($1::uuid[], $2::text[]) as w (client_id, id)
    join batches b on b.client_id = w.client_id and b.id = w.id
  )
  select
    b.client_id, b.id, b.channel_id, b.platform, b.name, b.type, b.status as batch_status, b.pause_reason, b.send_at, b.finished_at,
    (select c.external_ref from channels c where c.client_id = b.client_id and c.id = b.channel_id) as channel_external_ref,
    counts.*, started.sending, counts.unsent - started.sending as queued
  from wanted b
  cross join lateral (
    select
      ${COUNTED_STATUSES.map((status) => `${countOf(status)} as ${status}`).join(",\n      ")},
      ${countOf("queued")} as unsent
    from messages m
    where m.client_id = b.client_id
    and m.batch_id = b.id
    and m.id between b.first_message_id and b.last_message_id
  ) counts
  cross join lateral (
    select (count(*) filter (where ${STATUS_OF_SEND} = 'queued'))::integer as sending${fromSendsOf("b")}
    and s.started_at is not null
  ) started`);

/** Spans all clients: returns these batches in any order. */
export const findBatches = (
  db: Queryable,
  batches: readonly Pick<BatchRow, "client_id" | "id">[],
): Promise<BatchRow[]> =>
  db.query<BatchRow>(FIND, [batches.map(({ client_id }) => client_id), batches.map(({ id }) => id)]);

export async function findBatch(db: Queryable, clientId: string, id: string): Promise<BatchRow | undefined> {
  const [row] = await findBatches(db, [{ client_id: clientId, id }]);
  return row;
}

export interface BatchFilters {
  channel_id?: string | undefined;
  status?: string | undefined;
}

const LIST_IDS = byNewest(`
  select id
  from batches
  where client_id = $1
  and ($4::text is null or channel_id = $4)
  and ($5::text is null or status = $5)`);

/** Newest first, with one row more than the limit if there is one. The messages of these batches only are counted. */
export async function listBatches(
  db: Queryable,
  clientId: string,
  { page, filters }: { page: PageRequest; filters: BatchFilters },
): Promise<BatchRow[]> {
  const values = [filters.channel_id ?? null, filters.status ?? null];
  const found = await readPage<{ id: string }>(db, clientId, { page, statements: LIST_IDS, filters: values });
  const rows = await findBatches(
    db,
    found.map(({ id }) => ({ client_id: clientId, id })),
  );
  const rowsById = new Map(rows.map((row) => [row.id, row]));
  return found.flatMap(({ id }) => rowsById.get(id) ?? []);
}

const EXISTS = sql(`
  select 1 as one
  from batches
  where client_id = $1
  and id = $2`);

export const hasBatch = async (db: Queryable, clientId: string, id: string): Promise<boolean> =>
  (await db.query(EXISTS, [clientId, id])).length > 0;

const LIST_RATES = sql(`
  select b.id, b.rate_per_second as "perSecond"
  from unnest($1::uuid[], $2::text[]) as w (client_id, id)
  join batches b on b.client_id = w.client_id and b.id = w.id`);

interface BatchRate {
  id: string;
  /** Null without a rate of its own. */
  perSecond: number | null;
}

/** Spans all clients: returns the rates of these batches. */
export const listBatchRates = (
  db: Queryable,
  batches: readonly { clientId: string; batchId: string }[],
): Promise<BatchRate[]> =>
  db.query<BatchRate>(LIST_RATES, [
    batches.map(({ clientId }) => clientId),
    batches.map(({ batchId }) => batchId),
  ]);
