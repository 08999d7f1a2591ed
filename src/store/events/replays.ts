import { type Queryable, sql } from "../database/database.ts";
import { EVENT_COLUMNS, EVENT_STATUS, type EventRow } from "./events.ts";

const DELIVERY_COLUMNS =
  "d.id, d.state, d.skip_reason, d.attempts, d.last_status_code, d.last_error, d.next_attempt_at, d.url, d.delivered_at";

/** Due now, for the sweeper to take. The schedule begins anew, while the attempts are counted on. */
const SET_DUE_NOW =
  "state = 'pending', skip_reason = null, schedule_base = d.attempts, next_attempt_at = now(), delivered_at = null, enqueued_at = null";

/** Of an event that may be told now: its client has an address, and its key is not switched off. */
const CAN_BE_DELIVERED = `exists (
      select
      from events e
      join webhook_configs w on w.id = e.client_id
      where e.client_id = $1
      and e.id = $2
      and w.webhook_url is not null
      and (e.key = any(w.disabled_keys)) is not true
    )`;

/**
 * The row is held before it is looked at: what a concurrent attempt has just made of it counts, not what it was when the
 * statement began. One that is being sent right now is due already; should that attempt fail, the schedule begins anew.
 */
const RETRY = sql(`
  with held as materialized (
    select ${DELIVERY_COLUMNS}
    from deliveries d
    where d.client_id = $1
    and d.id = $2
    for update
  ),
  retried as (
    update deliveries d
    set ${SET_DUE_NOW}, is_bulk = false
    from held h
    where d.client_id = $1
    and d.id = $2
    and h.state <> 'in_flight'
    and ${CAN_BE_DELIVERED}
    returning ${DELIVERY_COLUMNS}
  ),
  restarted as (
    update deliveries d
    set schedule_base = d.attempts, is_bulk = false
    from held h
    where d.client_id = $1
    and d.id = $2
    and h.state = 'in_flight'
    and ${CAN_BE_DELIVERED}
  ),
  latest as (
    select ${DELIVERY_COLUMNS}
    from retried d
    union all
    select ${DELIVERY_COLUMNS}
    from held d
    where not exists (select from retried)
  )
  select ${EVENT_COLUMNS}
  from latest d
  join events e on e.client_id = $1 and e.id = $2
  left join webhook_configs w on w.id = $1`);

/** Bounded by the first and the last too, so that no partition is asked in vain. */
const REPLAY = sql(`
  update deliveries d
  set ${SET_DUE_NOW}, is_bulk = true
  where d.client_id = $1
  and d.id = any($2::text[])
  and d.id between $3 and $4
  and ${EVENT_STATUS} = $5
  returning 1 as one`);

/** The event afterwards: due now, or as it was while it is held. Undefined when the client has no such event. */
export async function retryEvent(
  db: Queryable,
  clientId: string,
  eventId: string,
): Promise<EventRow | undefined> {
  const [row] = await db.query<EventRow>(RETRY, [clientId, eventId]);
  return row;
}

/** Makes these due now, in bulk, as far as their status is still the one given; answers how many. The ids are in order. */
export async function replayDeliveries(
  db: Queryable,
  clientId: string,
  { ids, status }: { ids: readonly string[]; status: string },
): Promise<number> {
  if (ids.length === 0) return 0;
  const rows = await db.query(REPLAY, [clientId, ids, ids[0], ids.at(-1), status]);
  return rows.length;
}
