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

/**
 * SQL: true for the row of the queue that an outcome is about. With an equality and statistics from a moment at which the queue
 * was empty, Postgres would read the whole queue to join it with the outcomes; an array is always looked up.
 */
const IS_FINISHED = "q.id = any(array[i.id])";

/** SQL: true when the worker still has the lease. A row without another claim or attempt since takes the outcome too. */
const IS_FENCED = "(q.lease = i.lease or q.lease is null and q.attempts = i.attempts)";

/** SQL: true when the delivery ends. A schedule that was restarted meanwhile keeps it, unless a restart makes no difference. */
const ENDS = "i.delay_ms is null and (q.schedule_base <= i.schedule_base or i.restart_delay_ms is null)";

/**
 * Fenced by the lease: a worker that lost it to another writes nothing; the lease expired, or a crash of Postgres lost the
 * claim. An outcome without an attempt changes the row of the queue only, unless the delivery ends with it.
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
  settled as (
    delete from delivery_queue q
    using input i
    where ${IS_FINISHED}
    and ${IS_FENCED}
    and ${ENDS}
    returning i.*, i.state as new_state, null::timestamptz as due_at
  ),
  kept as (
    update delivery_queue q
    set
      due_at = now() + interval '1 millisecond'
        * case when q.schedule_base > i.schedule_base then coalesce(i.restart_delay_ms, i.delay_ms) else i.delay_ms end,
      attempts = q.attempts + i.is_attempt::integer,
      worker_id = null,
      lease = null,
      claimed_at = null
    from input i
    where ${IS_FINISHED}
    and ${IS_FENCED}
    and not (${ENDS})
    returning
      i.*,
      case when q.schedule_base > i.schedule_base and i.restart_delay_ms is not null then 'retrying' else i.state end
        as new_state,
      q.due_at
  ),
  outcome as (
    select * from settled
    union all
    select * from kept where is_attempt
  ),
  finished as (
    update deliveries d
    set
      state = o.new_state,
      skip_reason = o.skip_reason,
      attempts = d.attempts + o.is_attempt::integer,
      next_attempt_at = o.due_at,
      last_status_code = case when o.is_attempt then o.status_code else d.last_status_code end,
      last_error = case when o.is_attempt then o.error else d.last_error end,
      url = case when o.is_attempt then o.url else d.url end,
      delivered_at = case when o.state = 'delivered' then now() end,
      failed_at = case when o.state = 'failed' then now() end
    from outcome o
    where ${smallSetHint("o.id")}
    and d.client_id = o.client_id
    and d.id = o.id
    returning
      d.client_id, d.id, d.attempts, o.is_attempt, o.at, o.status_code, o.duration_ms, o.error, o.response_excerpt
  ),
  tried as (
    insert into attempts (client_id, id, attempt, at, status_code, duration_ms, error, response_excerpt)
    select client_id, id, attempts, at, status_code, duration_ms, error, response_excerpt
    from finished
    where is_attempt
  )
  select id from settled
  union all
  select id from kept`);

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
