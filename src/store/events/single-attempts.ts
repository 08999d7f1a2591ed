import { type Queryable, sql } from "../database/database.ts";

/** Error of an attempt whose outcome was not recorded: it may have arrived or not. */
const INTERRUPTED = "interrupted";

const BEGIN_SINGLE_ATTEMPT = sql(`
  with recorded as (
    update deliveries
    set
      state = 'failed',
      skip_reason = null,
      next_attempt_at = null,
      attempts = 1,
      last_error = $4,
      url = $3,
      failed_at = now()
    where client_id = $1
    and id = $2
  ),
  unqueued as (
    delete from delivery_queue
    where id = $2
    and client_id = $1
  )
  insert into attempts (client_id, id, attempt, at, duration_ms, error)
  values ($1, $2, 1, now(), 0, $4)`);

/** Leaves the delivery unchanged if it was retried meanwhile. */
const FINISH_SINGLE_ATTEMPT = sql(`
  with tried as (
    update attempts
    set status_code = $3, duration_ms = $4, error = $5, response_excerpt = $6
    where client_id = $1
    and id = $2
    and attempt = 1
  ),
  finished as (
    update deliveries
    set
      state = $7,
      last_status_code = $3,
      last_error = $5,
      delivered_at = case when $7 = 'delivered' then now() end,
      failed_at = case when $7 = 'failed' then now() end
    where client_id = $1
    and id = $2
    and state = 'failed'
    and attempts = 1
    returning client_id, id
  )
  insert into late_changes (client_id, id)
  select client_id, id
  from finished`);

/** Finds nothing while the first attempt is to be made. The reason of an event without one is that of its delivery. */
const FIND_FIRST_ATTEMPT = sql(`
  select
    a.id is not null and a.error is null as delivered,
    a.status_code,
    coalesce(a.duration_ms, 0) as duration_ms,
    case when a.id is null then coalesce(d.skip_reason, d.last_error) else a.error end as error
  from deliveries d
  left join attempts a on a.client_id = d.client_id and a.id = d.id and a.attempt = 1
  where d.client_id = $1
  and d.id = $2
  and (a.id is not null or d.state in ('skipped', 'failed'))`);

/**
 * Records the only attempt of an event, in the transaction that inserts the event. The delivery starts as
 * failed: after a crash no worker retries it, and the history shows that it may have been sent.
 */
export async function beginSingleAttempt(
  tx: Queryable,
  clientId: string,
  { id, url }: { id: string; url: string },
): Promise<void> {
  await tx.query(BEGIN_SINGLE_ATTEMPT, [clientId, id, url, INTERRUPTED]);
}

export interface FinishedAttempt {
  id: string;
  delivered: boolean;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  excerpt: string | null;
}

export async function finishSingleAttempt(
  db: Queryable,
  clientId: string,
  attempt: FinishedAttempt,
): Promise<void> {
  const { id, delivered, statusCode, durationMs, error, excerpt } = attempt;
  const state = delivered ? "delivered" : "failed";
  await db.query(FINISH_SINGLE_ATTEMPT, [clientId, id, statusCode, durationMs, error, excerpt, state]);
}

/** The result of an event's first attempt, or why there is none. */
export interface FirstAttempt {
  delivered: boolean;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
}

/** Undefined while the first attempt is to be made. */
export async function findFirstAttempt(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<FirstAttempt | undefined> {
  const [row] = await db.query<FirstAttempt>(FIND_FIRST_ATTEMPT, [clientId, id]);
  return row;
}
