import { type Queryable, sql } from "../database/database.ts";
import { IS_WAITING, smallSetHint, sortById } from "./delivery-refs.ts";

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
 * Fenced by the lease: a worker that lost it to another writes nothing. A delivery that has no other
 * claim or attempt since takes the outcome too: its lease expired, or a crash of Postgres lost the claim.
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
  finished as (
    update deliveries d
    set
      state = case when d.schedule_base > i.schedule_base and i.restart_delay_ms is not null then 'retrying' else i.state end,
      skip_reason = i.skip_reason,
      attempts = d.attempts + i.is_attempt::integer,
      next_attempt_at = now() + interval '1 millisecond'
        * case when d.schedule_base > i.schedule_base then coalesce(i.restart_delay_ms, i.delay_ms) else i.delay_ms end,
      last_status_code = case when i.is_attempt then i.status_code else d.last_status_code end,
      last_error = case when i.is_attempt then i.error else d.last_error end,
      url = case when i.is_attempt then i.url else d.url end,
      delivered_at = case when i.state = 'delivered' then now() end,
      failed_at = case when i.state = 'failed' then now() end,
      enqueued_at = null,
      worker_id = null,
      lease = null,
      claimed_at = null
    from input i
    where d.client_id = i.client_id
    and d.id = i.id
    and (d.lease = i.lease or d.lease is null and d.${IS_WAITING} and d.attempts = i.attempts)
    returning
      d.client_id, d.id, d.attempts, i.is_attempt, i.at, i.status_code, i.duration_ms, i.error, i.response_excerpt
  ),
  tried as (
    insert into attempts (client_id, id, attempt, at, status_code, duration_ms, error, response_excerpt)
    select client_id, id, attempts, at, status_code, duration_ms, error, response_excerpt
    from finished
    where is_attempt
  )
  select id
  from finished`);

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
