import { MINUTE } from "../../runtime/durations.ts";
import { type Queryable, sql } from "../database/database.ts";
import { isBeingDeleted, lockAliveClients } from "../tenants/client-locks.ts";
import type { DeliveryRef } from "./delivery-refs.ts";

/** An event recorded more than this after it occurred is late. */
export const LATE_AFTER_MS = 5 * MINUTE;

/** Columns of a new event. */
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
  /** Identifies repetitions of the event; null for an event that cannot repeat. */
  fingerprint: string | null;
}

/**
 * Spans all clients. Skips clients deleted meanwhile; a concurrent deletion waits for the key-share lock.
 * `alive` is the CTE of the clients that the statement has locked, `result` selects from the new events.
 * Fingerprints are inserted in a fixed order: otherwise two such statements could deadlock.
 */
const insertStatement = (alive: string, result: string) => `
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
  ${alive},
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
  to_deliver as (
    insert into deliveries (client_id, id, key, state, skip_reason, next_attempt_at, enqueued_at, queue_epoch)
    select
      client_id,
      id,
      key,
      case when skip_reason is null then 'pending' else 'skipped' end,
      skip_reason,
      case when skip_reason is null then now() end,
      case when skip_reason is null and $2::text is not null then now() end,
      $2
    from accepted
  )
  ${result}`;

const INSERT = sql(
  insertStatement(
    `alive as (
    select id
    from clients
    where id in (select client_id from input)
    order by id
    for key share
  )`,
    `select client_id as "clientId", id, skip_reason is null as "isDue"
  from accepted`,
  ),
);

const INSERT_UNBLOCKED = sql(
  insertStatement(
    lockAliveClients("select client_id from input"),
    `select client_id as "clientId", id, skip_reason is null as "isDue", false as "isBlocked"
  from accepted
  union all
  select i.client_id, i.id, false, true
  from input i
  where ${isBeingDeleted("i.client_id")}`,
  ),
);

/** An event that was not recorded before. */
export interface RecordedEvent extends DeliveryRef {
  /** True when its delivery is due now; false when it is skipped. */
  isDue: boolean;
}

/**
 * Returns the events that are new; `events` must not contain a fingerprint twice. With an `epoch` the caller
 * adds the deliveries to that Redis epoch's streams itself; with null the sweep does. Waits for a client that
 * is being deleted: with events of several clients, call it when they are locked.
 */
export const insertEvents = (
  db: Queryable,
  events: readonly NewEvent[],
  epoch: string | null = null,
): Promise<RecordedEvent[]> =>
  // A single JSON text is written and parsed several times faster than arrays of long texts.
  db.query<RecordedEvent>(INSERT, [JSON.stringify(events), epoch]);

interface UnblockedEvents {
  recorded: RecordedEvent[];
  /** Clients that are being deleted: their events are not recorded. */
  blockedClients: string[];
}

/** Like insertEvents, but never waits for a client that is being deleted. */
export async function insertUnblockedEvents(
  db: Queryable,
  events: readonly NewEvent[],
  epoch: string | null,
): Promise<UnblockedEvents> {
  type Row = RecordedEvent & { isBlocked: boolean };
  const rows = await db.query<Row>(INSERT_UNBLOCKED, [JSON.stringify(events), epoch]);
  return {
    recorded: rows.filter(({ isBlocked }) => !isBlocked),
    blockedClients: rows.filter(({ isBlocked }) => isBlocked).map(({ clientId }) => clientId),
  };
}

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

/**
 * Spans all clients: deletes up to `limit` fingerprints older than `maxAgeMs` milliseconds; returns how many.
 */
export async function deleteOldFingerprints(db: Queryable, maxAgeMs: number, limit: number): Promise<number> {
  const rows = await db.query(DELETE_OLD_FINGERPRINTS, [maxAgeMs, limit]);
  return rows.length;
}
