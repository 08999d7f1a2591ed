import { type Queryable, sql } from "../database/database.ts";
import { QUEUE_STARTED } from "../messages/scheduled-sends.ts";
import { fromSendsOf } from "./batches.ts";

/**
 * Changes of a batch's status. Each statement locks the batch and changes it only in a status that allows the change. The rows of its
 * messages are locked afterwards; those of a cancelled batch may be locked before. A pause changes the batch only: dispatchers claim
 * nothing of it.
 */

/** A batch after a change. */
export interface BatchRef {
  client_id: string;
  id: string;
  channel_id: string;
  status: string;
}

/** A batch to change. With `active_since` it is not changed when it was resumed meanwhile. */
export type BatchToChange = Pick<BatchRef, "client_id" | "id"> & { active_since?: string };

const REF_COLUMNS = "b.client_id, b.id, b.channel_id, b.status";

/** SQL: the batches of $1 and $2, at most hundreds. `like` is always true: a hint to look each one up by its key. */
const WANTED = "unnest($1::uuid[], $2::text[], $3::timestamptz[]) as w (client_id, id, active_since)";
const IS_WANTED = `b.client_id = w.client_id
  and b.id = w.id
  and w.id like 'bat%'
  and (w.active_since is null or b.active_since = w.active_since)`;

const PAUSE = sql(`
  update batches b
  set status = 'paused', pause_reason = $4, paused_at = now()
  from ${WANTED}
  where ${IS_WANTED}
  and b.status in ('scheduled', 'running')
  returning ${REF_COLUMNS}`);

/** Time in pause does not count for the expiry, apart from the time before the batch was to start. */
const RESUME = sql(`
  update batches b
  set
    status = case when b.send_at > now() then 'scheduled' else 'running' end,
    expires_at = b.expires_at + greatest(now() - greatest(b.paused_at, b.send_at), interval '0'),
    pause_reason = null,
    paused_at = null,
    active_since = now()
  from ${WANTED}
  where ${IS_WANTED}
  and b.status = 'paused'
  returning ${REF_COLUMNS}`);

const CANCEL = sql(`
  update batches b
  set status = 'cancelled', pause_reason = null, paused_at = null
  from ${WANTED}
  where ${IS_WANTED}
  and b.status in ('scheduled', 'running', 'paused')
  returning ${REF_COLUMNS}`);

const START = sql(`
  update batches b
  set status = 'running', active_since = now()
  from ${WANTED}
  where ${IS_WANTED}
  and b.status = 'scheduled'
  and b.send_at <= now()
  returning ${REF_COLUMNS}`);

/** The snapshot of the next statement then has the sends that another transaction has put back: it held this lock. */
const LOCK = sql(`
  select
  from batches b
  join ${WANTED} on ${IS_WANTED}
  order by b.id
  for no key update of b`);

/** Nothing is added to a batch, so one without sends stays without. Those of unknown outcome are not sent again. */
const FINISH = sql(`
  update batches b
  set
    status = case b.status when 'cancelled' then 'cancelled' else 'finished' end,
    finished_at = now(),
    pause_reason = null,
    paused_at = null
  from ${WANTED}
  where ${IS_WANTED}
  and b.finished_at is null
  and not exists (
    select${fromSendsOf("b")}
    offset 0 -- looked up for each batch
  )
  returning ${REF_COLUMNS}`);

const columnsOf = (batches: readonly BatchToChange[]) => [
  batches.map(({ client_id }) => client_id),
  batches.map(({ id }) => id),
  batches.map(({ active_since }) => active_since ?? null),
];

const changeBatches =
  (statement: ReturnType<typeof sql>) =>
  (tx: Queryable, batches: readonly BatchToChange[], ...values: string[]): Promise<BatchRef[]> =>
    tx.query<BatchRef>(statement, [...columnsOf(batches), ...values]);

/** Each returns the batches whose status allowed the change. The pause takes its reason. */
export const pauseBatches = changeBatches(PAUSE);
export const resumeBatches = changeBatches(RESUME);
export const cancelBatches = changeBatches(CANCEL);
export const startBatches = changeBatches(START);

/** Returns the batches of which nothing is left to send. */
export async function finishBatches(tx: Queryable, batches: readonly BatchToChange[]): Promise<BatchRef[]> {
  await tx.query(LOCK, columnsOf(batches));
  return tx.query<BatchRef>(FINISH, columnsOf(batches));
}

/**
 * Only the first message to each person waits for its turn; the others are behind it. The sends of each batch are read by their
 * index, once, and written by their `ctid`, whatever the statistics say. They do not change meanwhile, but for a cancel, which
 * deletes them.
 */
const START_SENDS = sql(`
  with wanted as materialized (
    select w.client_id, w.id
    from unnest($1::uuid[], $2::text[]) as w (client_id, id)
    where w.id like 'bat%' -- as a hint that these are few
  ),
  unsent as materialized (
    select
      s.row,
      s.state,
      row_number() over (partition by w.client_id, w.id, s.recipient order by s.place) = 1 as is_first
    from wanted w
    cross join lateral (
      select s.ctid as row, s.recipient, s.place, s.state${fromSendsOf("w")}
      offset 0
    ) s
  ),
  started as (
    update sends s
    set
      state = case when u.is_first then 'waiting' else 'behind' end,
      next_attempt_at = now()
    from unsent u
    where u.state = 'scheduled'
    and s.ctid = u.row
    and s.state = 'scheduled'
    returning s.client_id, s.id
  ),
  queued as (${QUEUE_STARTED}
  )
  select count(*) from started`);

/** Lets the messages of batches that were scheduled wait for their turn. */
export async function startBatchSends(tx: Queryable, batches: readonly BatchRef[]): Promise<void> {
  if (batches.length === 0) return;
  const [clientIds, ids] = columnsOf(batches);
  await tx.query(START_SENDS, [clientIds, ids]);
}

const PAUSE_OF_TEMPLATE = sql(`
  update batches b
  set status = 'paused', pause_reason = 'template', paused_at = now()
  from channels c
  where b.client_id = $1
  and b.finished_at is null
  and b.status in ('scheduled', 'running')
  and b.template_name = $3
  and ($4::text[] is null or replace(b.template_language, '-', '_') = any($4))
  and c.client_id = b.client_id
  and c.id = b.channel_id
  and c.waba_id = $2
  returning ${REF_COLUMNS}`);

/** A template of a business account; in all languages when `languages` is null. */
export interface StoppedTemplate {
  wabaId: string;
  name: string;
  languages: readonly string[] | null;
}

/** Pauses the client's batches that send this template. */
export const pauseBatchesOfTemplate = (
  tx: Queryable,
  clientId: string,
  { wabaId, name, languages }: StoppedTemplate,
): Promise<BatchRef[]> => {
  const spelled = languages?.map((language) => language.replaceAll("-", "_")) ?? null;
  return tx.query<BatchRef>(PAUSE_OF_TEMPLATE, [clientId, wabaId, name, spelled]);
};
