import { type Queryable, sql } from "../database/database.ts";
import { QUEUE_STARTED } from "../messages/scheduled-sends.ts";

/**
 * Changes of a batch's status. Each statement locks the batch and changes it only in a status that allows the change. The rows of
 * its messages are locked afterwards, never before. A pause changes the batch only: dispatchers claim nothing of it.
 */

/** A batch after a change. */
export interface BatchRef {
  client_id: string;
  id: string;
  channel_id: string;
  status: string;
}

const REF_COLUMNS = "b.client_id, b.id, b.channel_id, b.status";

const PAUSE = sql(`
  update batches b
  set status = 'paused', pause_reason = $3, paused_at = now()
  where b.client_id = $1
  and b.id = $2
  and b.status in ('scheduled', 'running')
  and ($4::timestamptz is null or b.active_since = $4)
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
  where b.client_id = $1
  and b.id = $2
  and b.status = 'paused'
  returning ${REF_COLUMNS}`);

const CANCEL = sql(`
  update batches b
  set status = 'cancelled', pause_reason = null, paused_at = null
  where b.client_id = $1
  and b.id = $2
  and b.status in ('scheduled', 'running', 'paused')
  returning ${REF_COLUMNS}`);

const START = sql(`
  update batches b
  set status = 'running', active_since = now()
  where b.client_id = $1
  and b.id = $2
  and b.status = 'scheduled'
  and b.send_at <= now()
  returning ${REF_COLUMNS}`);

/** Nothing is added to a batch, so one without sends stays without. Those of unknown outcome are not sent again. */
const FINISH = sql(`
  update batches b
  set
    status = case b.status when 'cancelled' then 'cancelled' else 'finished' end,
    finished_at = now(),
    pause_reason = null,
    paused_at = null
  where b.client_id = $1
  and b.id = $2
  and b.finished_at is null
  and not exists (
    select
    from sends s
    where s.client_id = $1
    and s.batch_id = $2
    and s.batch_id <> ''
    and s.state <> 'unknown'
  )
  returning ${REF_COLUMNS}`);

const changeBatch =
  (statement: ReturnType<typeof sql>) =>
  async (
    tx: Queryable,
    { client_id, id }: Pick<BatchRef, "client_id" | "id">,
    ...values: (string | null)[]
  ): Promise<BatchRef | undefined> => {
    const [row] = await tx.query<BatchRef>(statement, [client_id, id, ...values]);
    return row;
  };

/**
 * Each returns undefined when the status of the batch does not allow the change. The pause takes its reason, and `active_since`
 * of the batch or null: a batch that was resumed meanwhile is not paused.
 */
export const pauseBatch = changeBatch(PAUSE);
export const resumeBatch = changeBatch(RESUME);
export const cancelBatch = changeBatch(CANCEL);
export const startBatch = changeBatch(START);
export const finishBatch = changeBatch(FINISH);

/** Only the first message to each person waits for its turn; the others are behind it. */
const START_SENDS = sql(`
  with first as materialized (
    select distinct on (recipient) id
    from sends
    where client_id = $1
    and batch_id = $2
    and batch_id <> ''
    and state <> 'unknown'
    order by recipient, place
  ),
  started as (
    update sends s
    set
      state = case when s.id in (select id from first) then 'waiting' else 'behind' end,
      next_attempt_at = now()
    where s.client_id = $1
    and s.batch_id = $2
    and s.batch_id <> ''
    and s.state = 'scheduled'
    returning s.client_id, s.id
  ),
  queued as (${QUEUE_STARTED}
  )
  select count(*) from started`);

/** Lets the messages of a batch that were scheduled wait for their turn. */
export async function startBatchSends(tx: Queryable, { client_id, id }: BatchRef): Promise<void> {
  await tx.query(START_SENDS, [client_id, id]);
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
