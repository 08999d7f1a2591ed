import { type Queryable, sql } from "../database/database.ts";
import { deathsAfterExpiry, isLeaseExpired, type LeaseLimits } from "../processes/workers.ts";
import { appendAttempt, SETTLED_COLUMNS, type SettledSend, sendingStep } from "./lifecycle.ts";

/** Everything here spans all clients: it recovers sends that a dead dispatcher had claimed. */

/** A send whose request was not written is due again immediately and counts the death of a dispatcher that has died. */
const REQUEUE_UNSTARTED = sql(`
  with lost as materialized (
    select s.client_id, s.id, ${deathsAfterExpiry("s")} as deaths
    from sends s
    where s.state = 'claimed'
    and s.sending_at is null
    and ${isLeaseExpired("s")}
    order by s.id
    limit 1000
    for update of s skip locked
  )
  update sends s
  set
    state = 'waiting',
    deaths = l.deaths,
    worker_id = null,
    lease = null,
    claimed_at = null
  from lost l
  where s.client_id = l.client_id
  and s.id = l.id
  returning 1 as one`);

/**
 * A send whose request may have been written is not repeated. A message that a status webhook has settled
 * meanwhile keeps its status.
 */
const MARK_UNKNOWN = sql(`
  with lost as materialized (
    select s.client_id, s.id, s.attempts + 1 as attempts, s.started_at, s.sending_at, s.platform_message_id
    from sends s
    where s.state = 'claimed'
    and s.sending_at is not null
    and ${isLeaseExpired("s")}
    order by s.id
    limit 500
    for update of s skip locked
  ),
  doubted as (
    update sends s
    set
      state = 'unknown',
      attempts = l.attempts,
      next_attempt_at = now() + $3 * interval '1 millisecond',
      worker_id = null,
      claimed_at = null
    from lost l
    where s.client_id = l.client_id
    and s.id = l.id
  )
  update messages m
  set
    status = case m.status when 'queued' then 'unknown' else m.status end,
    timeline = ${sendingStep("l.started_at")} || case m.status
      when 'queued' then jsonb_build_array(jsonb_build_object('status', 'unknown', 'at', now()))
      else m.timeline
    end,
    attempts = l.attempts,
    platform_attempts = ${appendAttempt(
      "m.platform_attempts",
      "jsonb_build_object('attempt', l.attempts, 'at', l.sending_at, 'outcome', 'unknown', 'error', $4::text)",
    )},
    platform_message_id = coalesce(m.platform_message_id, l.platform_message_id)
  from lost l
  where l.id like 'msg%'
  and m.client_id = l.client_id
  and m.id = l.id
  returning ${SETTLED_COLUMNS}, m.status`);

/** Makes sends due again that a dead dispatcher had not begun to send; returns how many. */
export async function requeueUnstartedSends(
  tx: Queryable,
  { deadAfter, maxLeaseMs }: LeaseLimits,
): Promise<number> {
  const rows = await tx.query(REQUEUE_UNSTARTED, [deadAfter, maxLeaseMs]);
  return rows.length;
}

/**
 * Marks sends that a dead dispatcher may have sent as unknown; their status is awaited for `waitMs`
 * milliseconds. `error` is that of their attempts, as JSON.
 */
export const markSendsUnknown = (
  tx: Queryable,
  { deadAfter, maxLeaseMs, waitMs, error }: LeaseLimits & { waitMs: number; error: string },
): Promise<(SettledSend & { status: string })[]> =>
  tx.query(MARK_UNKNOWN, [deadAfter, maxLeaseMs, waitMs, error]);
