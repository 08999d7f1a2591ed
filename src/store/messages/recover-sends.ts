import { type Queryable, sql } from "../database/database.ts";
import { isInDeadHands, type Silence } from "../processes/workers.ts";
import { firstStep, SETTLED, type SettledSend } from "./settled-sends.ts";

/** Everything here is over all clients: what becomes of the messages that a dead dispatcher had in hand. */

/** Whose request was not written yet is due again, at once. */
const RELEASE = sql(`
  update sends s
  set state = 'waiting', enqueued_at = null, worker_id = null, lease = null, claimed_at = null
  where s.state = 'in_hand'
  and s.sending_at is null
  and ${isInDeadHands("s")}
  returning 1 as one`);

/** Whose request may have been written is not sent again. Of what the platform has told meanwhile nothing is unknown. */
const DOUBT = sql(`
  with lost as materialized (
    select s.client_id, s.id, s.attempts + 1 as attempts, s.started_at, s.platform_message_id
    from sends s
    where s.state = 'in_hand'
    and s.sending_at is not null
    and ${isInDeadHands("s")}
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
      enqueued_at = null,
      worker_id = null,
      claimed_at = null
    from lost l
    where s.client_id = l.client_id
    and s.id = l.id
  )
  update messages m
  set
    status = case m.status when 'queued' then 'unknown' else m.status end,
    timeline = ${firstStep("l.started_at")} || case m.status
      when 'queued' then jsonb_build_array(jsonb_build_object('status', 'unknown', 'at', now()))
      else m.timeline
    end,
    attempts = l.attempts,
    platform_message_id = coalesce(m.platform_message_id, l.platform_message_id)
  from lost l
  where l.id like 'msg%'
  and m.client_id = l.client_id
  and m.id = l.id
  returning ${SETTLED}, m.status`);

/** Makes due again what the dead had not begun to send; answers how much. */
export async function releaseSends(tx: Queryable, { deadAfter, longest }: Silence): Promise<number> {
  const rows = await tx.query(RELEASE, [deadAfter, longest]);
  return rows.length;
}

/** Puts in doubt what the dead may have sent; word of it is waited for `wait` milliseconds. */
export const doubtSends = (
  tx: Queryable,
  { deadAfter, longest, wait }: Silence & { wait: number },
): Promise<(SettledSend & { status: string })[]> => tx.query(DOUBT, [deadAfter, longest, wait]);
