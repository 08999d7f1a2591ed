import { type Queryable, sql } from "../database/database.ts";
import { firstIdOfEachHour } from "../stats/client-hours.ts";
import { EVENT_COLUMNS, EVENT_STATUS, type EventRow } from "./events.ts";

const DELIVERY_COLUMNS =
  "d.id, d.state, d.skip_reason, d.attempts, d.last_status_code, d.last_error, d.next_attempt_at, d.url, d.delivered_at";

/** The retry schedule restarts and the deaths are forgotten; `attempts` keeps counting. */
const RESTART = "schedule_base = d.attempts, deaths = 0";

/** Due now, for the sweep to enqueue. */
const SET_DUE_NOW = `${RESTART}, state = 'pending', skip_reason = null, next_attempt_at = now(), delivered_at = null, enqueued_at = null`;

/** SQL: true when the client has a webhook_url and the event's key is enabled. */
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
 * Locks the row first, so that the outcome of a concurrent attempt counts. A delivery in flight is not made
 * due; only its retry schedule and its deaths restart, in case the attempt fails.
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
    set ${RESTART}, is_bulk = false
    from held h
    where d.client_id = $1
    and d.id = $2
    and h.state = 'in_flight'
    and ${CAN_BE_DELIVERED}
  ),
  late as (
    insert into late_changes (client_id, id)
    select $1, id
    from retried
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

/** The first and the last id bound the search, so that Postgres skips the other partitions. */
const REPLAY = sql(`
  with replayed as (
    update deliveries d
    set ${SET_DUE_NOW}, is_bulk = true
    where d.client_id = $1
    and d.id = any($2::text[])
    and d.id between $3 and $4
    and ${EVENT_STATUS} = $5
    returning 1 as one
  ),
  late as (
    insert into late_changes (client_id, id)
    select $1, unnest($6::text[])
    where exists (select from replayed)
  )
  select one
  from replayed`);

/**
 * Returns the event: due now, or unchanged while its key is disabled or there is no webhook_url. Undefined
 * when the client has no such event.
 */
export async function retryEvent(
  db: Queryable,
  clientId: string,
  eventId: string,
): Promise<EventRow | undefined> {
  const [row] = await db.query<EventRow>(RETRY, [clientId, eventId]);
  return row;
}

/** Makes deliveries that still have `status` due now, in bulk; returns how many. `ids` must be sorted. */
export async function replayDeliveries(
  db: Queryable,
  clientId: string,
  { ids, status }: { ids: readonly string[]; status: string },
): Promise<number> {
  if (ids.length === 0) return 0;
  const values = [clientId, ids, ids[0], ids.at(-1), status, firstIdOfEachHour(ids)];
  const rows = await db.query(REPLAY, values);
  return rows.length;
}
