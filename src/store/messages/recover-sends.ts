import { type Queryable, sql } from "../database/database.ts";
import { isAmong } from "../events/events.ts";
import { deathsAfterExpiry, type LeaseLimits } from "../processes/workers.ts";
import { appendAttempt, SETTLED_COLUMNS, type SettledSend, sendingStep } from "./lifecycle.ts";
import { columnsOf, lockFound, OVERDUE, type SendRef } from "./overdue-sends.ts";

/** Everything here spans all clients: it recovers sends that a dead dispatcher had claimed. */

const FOUND = { clientIds: "$3", ids: "$4" };

/** A send whose request was not written is due again immediately and counts the death of a dispatcher that has died. */
const REQUEUE_UNSTARTED = sql(`
  with lost as materialized (
    select s.row, s.deaths
    from ${lockFound({ ...FOUND, condition: OVERDUE.requeue_unstarted }, `${deathsAfterExpiry("s")} as deaths`)}
  )
  update sends s
  set
    state = 'waiting',
    deaths = l.deaths,
    worker_id = null,
    lease = null,
    claimed_at = null
  from lost l
  where s.ctid = l.row
  returning 1 as one`);

/**
 * A send whose request may have been written is not repeated. A message that a status webhook has settled
 * meanwhile keeps its status.
 */
const MARK_UNKNOWN = sql(`
  with lost as materialized (
    select s.*
    from ${lockFound(
      { ...FOUND, condition: OVERDUE.mark_unknown },
      "s.client_id, s.id, s.attempts + 1 as attempts, s.started_at, s.sending_at, s.platform_message_id",
    )}
  ),
  doubted as (
    update sends s
    set
      state = 'unknown',
      attempts = l.attempts,
      next_attempt_at = now() + $5 * interval '1 millisecond',
      worker_id = null,
      claimed_at = null
    from lost l
    where s.ctid = l.row
    returning s.id
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
      "jsonb_build_object('attempt', l.attempts, 'at', l.sending_at, 'outcome', 'unknown', 'error', $6::text)",
    )},
    platform_message_id = coalesce(m.platform_message_id, l.platform_message_id)
  from lost l
  where ${isAmong("l.id", "doubted")}
  and l.id like 'msg%'
  and m.client_id = l.client_id
  and m.id = l.id
  returning ${SETTLED_COLUMNS}, m.status`);

const valuesOf = ({ deadAfter, maxLeaseMs }: LeaseLimits, refs: readonly SendRef[]) => [
  deadAfter,
  maxLeaseMs,
  ...columnsOf(refs),
];

/** Makes those of these sends due again that a dead dispatcher had not begun to send; returns how many. */
export async function requeueUnstartedSends(
  tx: Queryable,
  refs: readonly SendRef[],
  limits: LeaseLimits,
): Promise<number> {
  const rows = await tx.query(REQUEUE_UNSTARTED, valuesOf(limits, refs));
  return rows.length;
}

/**
 * Marks those of these sends that a dead dispatcher may have sent as unknown; their status is awaited for `waitMs`
 * milliseconds. `error` is that of their attempts, as JSON.
 */
export const markSendsUnknown = (
  tx: Queryable,
  refs: readonly SendRef[],
  { waitMs, error, ...limits }: LeaseLimits & { waitMs: number; error: string },
): Promise<(SettledSend & { status: string })[]> =>
  tx.query(MARK_UNKNOWN, [...valuesOf(limits, refs), waitMs, error]);
