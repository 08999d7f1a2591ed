import { HOUR } from "../../runtime/durations.ts";
import { timeOfId } from "../../runtime/ids.ts";
import { type Queryable, sql } from "../database/database.ts";
import { EVENT_COLUMNS, EVENT_STATUS, type EventRow } from "./events.ts";

const DELIVERY_COLUMNS =
  "d.id, d.state, d.skip_reason, d.attempts, d.last_status_code, d.last_error, d.next_attempt_at, d.url, d.delivered_at";

/** Due now. The attempts keep counting; the retry schedule restarts in delivery_queue. */
const SET_DUE_NOW = "state = 'pending', skip_reason = null, next_attempt_at = now(), delivered_at = null";

/** SQL: true when the client has a webhook_url and the event's key is enabled. */
const CAN_BE_DELIVERED = `exists (
      select
      from events e
      join webhook_configs w on w.client_id = e.client_id
      where e.client_id = $1
      and e.id = $2
      and w.webhook_url is not null
      and (e.key = any(w.disabled_keys)) is not true
    )`;

/**
 * Locks the row of the queue first, as an outcome does, so that the outcome of a concurrent attempt counts. A claimed delivery
 * is not made due; only its retry schedule and its deaths restart, in case the attempt fails.
 */
const RETRY = sql(`
  with held as materialized (
    select id
    from delivery_queue
    where id = $2
    and client_id = $1
    for update
  ),
  stored as materialized (
    select ${DELIVERY_COLUMNS}
    from deliveries d
    where d.client_id = $1
    and d.id = $2
    and (select count(*) from held) >= 0
    for update
  ),
  queued as (
    insert into delivery_queue as q (id, client_id, attempts, schedule_base)
    select id, $1, attempts, attempts
    from stored
    where ${CAN_BE_DELIVERED}
    on conflict (id) do update
    set
      is_bulk = false,
      due_at = case when q.worker_id is null then now() else q.due_at end,
      schedule_base = q.attempts,
      deaths = 0
    returning worker_id is null as is_due
  ),
  retried as (
    update deliveries d
    set ${SET_DUE_NOW}, is_bulk = false
    from queued q
    where q.is_due
    and d.client_id = $1
    and d.id = $2
    returning ${DELIVERY_COLUMNS}
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
    from stored d
    where not exists (select from retried)
  )
  select ${EVENT_COLUMNS}
  from latest d
  join events e on e.client_id = $1 and e.id = $2
  left join webhook_configs w on w.client_id = $1`);

/** The first and the last id bound the search, so that Postgres skips the other partitions. */
const REPLAY = sql(`
  with replayed as (
    update deliveries d
    set ${SET_DUE_NOW}, is_bulk = true
    where d.client_id = $1
    and d.id = any($2::text[])
    and d.id between $3 and $4
    and ${EVENT_STATUS} = $5
    returning d.id, d.attempts
  ),
  queued as (
    insert into delivery_queue (id, client_id, is_bulk, attempts, schedule_base)
    select id, $1, true, attempts, attempts
    from replayed
    on conflict (id) do nothing
  ),
  late as (
    insert into late_changes (client_id, id)
    select $1, unnest($6::text[])
    where exists (select from replayed)
  )
  select id
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

/** One id of each hour; ids of the same hour are equivalent in late_changes. */
function firstIdOfEachHour(ids: readonly string[]): string[] {
  const idsByHour = new Map<number, string>();
  for (const id of ids) {
    const hour = Math.floor(timeOfId(id) / HOUR);
    if (!idsByHour.has(hour)) idsByHour.set(hour, id);
  }
  return [...idsByHour.values()];
}

/** Makes deliveries that still have `status` due now, in bulk; returns their ids. `ids` must be sorted. */
export async function replayDeliveries(
  db: Queryable,
  clientId: string,
  { ids, status }: { ids: readonly string[]; status: string },
): Promise<string[]> {
  if (ids.length === 0) return [];
  const values = [clientId, ids, ids[0], ids.at(-1), status, firstIdOfEachHour(ids)];
  const rows = await db.query<{ id: string }>(REPLAY, values);
  return rows.map(({ id }) => id);
}
