import { MINUTE } from "../../runtime/durations.ts";
import { type Queryable, sql } from "../database/database.ts";
import type { DeliveryRef } from "./delivery-refs.ts";

/** What is recorded later than this after it occurred counts as late. */
export const LATE_AFTER_MS = 5 * MINUTE;

/** An event as it is written down. */
export interface NewEvent {
  client_id: string;
  id: string;
  type: string;
  key: string | null;
  channel_id: string | null;
  ad_account_id: string | null;
  message_id: string | null;
  occurred_at: Date;
  is_late: boolean;
  payload: string;
  /** By what the same event is known again; null for one that comes from ourselves. */
  fingerprint: string | null;
}

/**
 * Over all clients: the events that are new, and the telling of each, in one statement. A client erased meanwhile gets
 * none; who erases one waits for the lock. Fingerprints are written in order, or two such statements could wait for each other.
 */
const INSERT = sql(`
  with input as (
    select *
    from json_to_recordset($1) as i (
      client_id uuid,
      id text,
      type text,
      key text,
      channel_id text,
      ad_account_id text,
      message_id text,
      occurred_at timestamptz,
      is_late boolean,
      payload text,
      fingerprint uuid
    )
  ),
  alive as (
    select id
    from clients
    where id in (select client_id from input)
    order by id
    for key share
  ),
  fresh as (
    insert into event_fingerprints (client_id, fingerprint)
    select i.client_id, i.fingerprint
    from input i
    join alive a on a.id = i.client_id
    where i.fingerprint is not null
    order by i.client_id, i.fingerprint
    on conflict do nothing
    returning client_id, fingerprint
  ),
  accepted as materialized (
    select
      i.*,
      case
        when i.key = any(c.disabled_keys) then 'disabled'
        when c.webhook_url is null then 'not_configured'
      end as skip_reason
    from input i
    join alive a on a.id = i.client_id
    left join webhook_configs c on c.id = i.client_id
    left join fresh f on f.client_id = i.client_id and f.fingerprint = i.fingerprint
    where i.fingerprint is null or f.fingerprint is not null
  ),
  recorded as (
    insert into events (
      client_id, id, type, key, channel_id, ad_account_id, message_id, occurred_at, is_late, payload
    )
    select client_id, id, type, key, channel_id, ad_account_id, message_id, occurred_at, is_late, payload
    from accepted
  ),
  to_tell as (
    insert into deliveries (client_id, id, state, skip_reason, next_attempt_at, enqueued_at, queue_epoch)
    select
      client_id,
      id,
      case when skip_reason is null then 'pending' else 'skipped' end,
      skip_reason,
      case when skip_reason is null then now() end,
      case when skip_reason is null and $2::text is not null then now() end,
      $2
    from accepted
  )
  select client_id as "clientId", id, skip_reason is null as "isDue"
  from accepted`);

/** An event that was not known yet. */
export interface RecordedEvent extends DeliveryRef {
  /** To be told now. */
  isDue: boolean;
}

/**
 * Those that are new; no fingerprint may stand twice in the list itself. They go as one JSON text, which is written and
 * read several times faster than arrays of long texts. `epoch` is the life of Redis whose queue is given them at once,
 * by the caller; null: the sweeper will do that.
 */
export const insertEvents = (
  db: Queryable,
  events: readonly NewEvent[],
  epoch: string | null = null,
): Promise<RecordedEvent[]> => db.query<RecordedEvent>(INSERT, [JSON.stringify(events), epoch]);

const FIND_FINGERPRINT = sql(`
  select 1 as one
  from event_fingerprints
  where client_id = $1
  and fingerprint = $2`);

export async function hasFingerprint(db: Queryable, clientId: string, fingerprint: string): Promise<boolean> {
  const rows = await db.query(FIND_FINGERPRINT, [clientId, fingerprint]);
  return rows.length > 0;
}

const DELETE_OLD_FINGERPRINTS = sql(`
  delete from event_fingerprints
  where ctid = any(array(
    select ctid
    from event_fingerprints
    where seen_at < now() - $1 * interval '1 millisecond'
    limit $2
  ))
  returning 1 as one`);

/** Over all clients: up to `limit` of those that are older than `maxAgeMs` milliseconds. */
export async function deleteOldFingerprints(db: Queryable, maxAgeMs: number, limit: number): Promise<number> {
  const rows = await db.query(DELETE_OLD_FINGERPRINTS, [maxAgeMs, limit]);
  return rows.length;
}
