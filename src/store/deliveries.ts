import { type Queryable, sql } from "./database.ts";
import type { NewEvent } from "./record-events.ts";

/** What is known of an attempt whose end nobody has written down: it may have arrived, or not. */
const INTERRUPTED = "interrupted";

/** The statement holds the client, for no row of an event refers to it by a constraint. */
const BEGIN_ONLY_ATTEMPT = sql(`
  with alive as (
    select id
    from clients
    where id = $1
    for key share
  ),
  recorded as (
    insert into events (client_id, id, type, key, occurred_at, is_late, payload)
    select id, $2, $3, $4, $5, $6, $7
    from alive
    returning client_id, id
  ),
  told as (
    insert into deliveries (client_id, id, state, attempts, last_error, url)
    select client_id, id, 'failed', 1, $9, $8
    from recorded
  )
  insert into attempts (client_id, id, attempt, at, duration_ms, error)
  select client_id, id, 1, now(), 0, $9
  from recorded
  returning id`);

/** A delivery that was asked for again meanwhile has a course of its own, which stays. */
const END_ONLY_ATTEMPT = sql(`
  with tried as (
    update attempts
    set status_code = $3, duration_ms = $4, error = $5, response_excerpt = $6
    where client_id = $1
    and id = $2
    and attempt = 1
  )
  update deliveries
  set
    state = $7,
    last_status_code = $3,
    last_error = $5,
    delivered_at = case when $7 = 'delivered' then now() end
  where client_id = $1
  and id = $2
  and state = 'failed'
  and attempts = 1`);

/**
 * Writes down an event that is attempted once, by whom it is recorded. It stands as failed from the beginning: whatever
 * becomes of that process, nobody takes it for due, and that it may have been sent is in the history. False when the
 * client is gone.
 */
export async function beginOnlyAttempt(
  db: Queryable,
  clientId: string,
  { event, url }: { event: NewEvent; url: string },
): Promise<boolean> {
  const { id, type, key, occurred_at, is_late, payload } = event;
  const values = [clientId, id, type, key, occurred_at, is_late, payload, url, INTERRUPTED];
  const rows = await db.query(BEGIN_ONLY_ATTEMPT, values);
  return rows.length > 0;
}

export interface EndedAttempt {
  id: string;
  delivered: boolean;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  excerpt: string | null;
}

export async function endOnlyAttempt(db: Queryable, clientId: string, ended: EndedAttempt): Promise<void> {
  const { id, delivered, statusCode, durationMs, error, excerpt } = ended;
  const state = delivered ? "delivered" : "failed";
  await db.query(END_ONLY_ATTEMPT, [clientId, id, statusCode, durationMs, error, excerpt, state]);
}
