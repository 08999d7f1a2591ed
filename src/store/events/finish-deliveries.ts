import { type Queryable, sql } from "../database/database.ts";
import { smallSetHint, sortById } from "./events.ts";

/** Columns of an attempt. */
export interface AttemptRecord {
  at: Date;
  url: string | null;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  response_excerpt: string | null;
}

/** Outcome of a claimed delivery. */
export interface DeliveryFinish {
  client_id: string;
  id: string;
  lease: string;
  /** Value at the time of the claim. */
  attempts: number;
  state: "pending" | "retrying" | "delivered" | "failed" | "skipped";
  /** Value at the time of the claim; a higher value now means that the schedule was restarted meanwhile. */
  schedule_base: number;
  skip_reason: "disabled" | "not_configured" | null;
  /** Milliseconds until the delivery is due again; null when it is not retried. */
  delay_ms: number | null;
  /** Replaces `delay_ms` if the schedule was restarted; null when a restart makes no difference. */
  restart_delay_ms: number | null;
  /** Null when no request was made. */
  attempt: AttemptRecord | null;
}

/** SQL: true when the worker still has the lease. A row without another claim or attempt since takes the outcome too. */
const IS_FENCED = "(lease = i.lease or lease is null and attempts = i.attempts)";

/** SQL: true when the delivery ends. A schedule that was restarted meanwhile keeps it, unless a restart makes no difference. */
const ENDS = "i.delay_ms is null and (q.schedule_base <= i.schedule_base or i.restart_delay_ms is null)";

/** SQL: true when a schedule that was restarted meanwhile decides when the delivery is due again. */
const RESTARTS = "q.schedule_base > i.schedule_base and i.restart_delay_ms is not null";

/**
 * Fenced by the lease: a worker that lost it to another writes nothing; the lease expired, or a crash of Postgres lost the
 * claim. An outcome without an attempt changes the row of the queue only, unless the delivery ends with it.
 * Each row is locked by its key and written by its `ctid`: with statistics from a moment at which the queue was empty, Postgres
 * would read all of it to join a few rows.
 */
const FINISH = sql(`
  with input as materialized (
    select i.*
    from json_to_recordset($1) as i (
      client_id uuid,
      id text,
      lease uuid,
      attempts integer,
      state text,
      schedule_base integer,
      skip_reason text,
      delay_ms double precision,
      restart_delay_ms double precision,
      is_attempt boolean,
      at timestamptz,
      url text,
      status_code integer,
      duration_ms integer,
      error text,
      response_excerpt text
    )
    where ${smallSetHint("i.id")}
  ),
  held as materialized (
    select
      q.row, i.client_id, i.id, i.skip_reason, i.is_attempt, i.at, i.url, i.status_code, i.duration_ms, i.error, i.response_excerpt,
      ${ENDS} as ends,
      case when ${RESTARTS} then 'retrying' else i.state end as state,
      now() + interval '1 millisecond' * case when ${RESTARTS} then i.restart_delay_ms else i.delay_ms end as due_at
    from input i
    cross join lateral (
      select ctid as row, schedule_base
      from delivery_queue
      where id = i.id
      and ${IS_FENCED}
      limit 1
      for update
    ) q
  ),
  settled as (
    delete from delivery_queue q
    where q.ctid = any(array(select row from held where ends))
  ),
  kept as (
    update delivery_queue q
    set
      due_at = h.due_at,
      attempts = q.attempts + h.is_attempt::integer,
      worker_id = null,
      lease = null,
      claimed_at = null
    from held h
    where not h.ends
    and q.ctid = h.row
  ),
  finished as (
    update deliveries d
    set
      state = h.state,
      skip_reason = h.skip_reason,
      attempts = d.attempts + h.is_attempt::integer,
      next_attempt_at = h.due_at,
      last_status_code = case when h.is_attempt then h.status_code else d.last_status_code end,
      last_error = case when h.is_attempt then h.error else d.last_error end,
      url = case when h.is_attempt then h.url else d.url end,
      delivered_at = case when h.state = 'delivered' then now() end,
      failed_at = case when h.state = 'failed' then now() end
    from held h
    where (h.ends or h.is_attempt)
    and ${smallSetHint("h.id")}
    and d.client_id = h.client_id
    and d.id = h.id
    returning
      d.client_id, d.id, d.attempts, h.is_attempt, h.at, h.status_code, h.duration_ms, h.error, h.response_excerpt
  ),
  tried as (
    insert into attempts (client_id, id, attempt, at, status_code, duration_ms, error, response_excerpt)
    select client_id, id, attempts, at, status_code, duration_ms, error, response_excerpt
    from finished
    where is_attempt
  )
  select id
  from held`);

/**
 * Spans all clients: stores outcomes and attempts of the deliveries whose lease is still valid, and returns their ids.
 * Those of deleted clients are missing too.
 */
export async function finishDeliveries(
  db: Queryable,
  finishes: readonly DeliveryFinish[],
): Promise<string[]> {
  const rows = sortById(finishes).map(({ attempt, ...delivery }) => ({
    ...delivery,
    is_attempt: attempt !== null,
    ...attempt,
  }));
  const finished = await db.query<{ id: string }>(FINISH, [JSON.stringify(rows)]);
  return finished.map(({ id }) => id);
}
