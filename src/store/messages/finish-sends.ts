import { SEND_TTL_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";
import { isAmong, sortById } from "../events/events.ts";
import {
  appendAttempt,
  FINISHED_AT,
  type PlatformAttempt,
  sendingStep,
  UNSETTLED_STATUSES,
} from "./lifecycle.ts";
import type { ChannelRecipient } from "./send-order.ts";

/**
 * Outcome of a claimed send. accepted: the platform has the message. refused: it failed for good. settled: a status webhook
 * has decided, and it is not sent. unknown: the request may have arrived. waiting: the send is retried later.
 */
export interface SendFinish {
  client_id: string;
  id: string;
  lease: string;
  outcome: "accepted" | "refused" | "settled" | "unknown" | "waiting";
  /** Statuses that the message has reached, in order, with their times. */
  steps: { status: string; at: string }[];
  /** Null when the send does not count as an attempt. */
  attempt: PlatformAttempt | null;
  platform_message_id: string | null;
  caption_message_id: string | null;
  parts_sent: number;
  /** Why the message was refused or is retried, as JSON, and its code. */
  error: string | null;
  error_code: string | null;
  /** Milliseconds until the send is due, null when it keeps its place; for `unknown`, how long its status is awaited. */
  delay_ms: number | null;
}

/**
 * `held` carries the input: joined to it again for each write, a batch would take quadratic time. It locks each send by its key,
 * and the writes name its `ctid`: with statistics from a moment at which no send waited, Postgres would read all of them.
 * A send that changed while the statement waited for its lock has another `ctid` then: it is not written, see finishSends.
 * Fenced by the lease: a dispatcher that lost it writes nothing. Statuses that the platform has reported
 * meanwhile stay, being later; `steps` go before them.
 */
const FINISH = sql(`
  with input as materialized (
    select i.*
    from json_to_recordset($1) as i (
      client_id uuid,
      id text,
      lease uuid,
      outcome text,
      steps jsonb,
      attempt jsonb,
      platform_message_id text,
      caption_message_id text,
      parts_sent integer,
      error text,
      error_code text,
      delay_ms double precision
    )
    where i.id like 'msg%'
  ),
  held as materialized (
    select
      s.row, s.client_id, s.id, s.channel_id, s.batch_id, s.recipient, s.started_at,
      -- The recovery has already counted and recorded the attempt of a send that it marked as unknown.
      s.state <> 'claimed' as is_counted,
      s.attempts + (s.state = 'claimed' and i.attempt is not null)::integer as attempts,
      i.outcome, i.steps, i.attempt, i.platform_message_id, i.caption_message_id, i.parts_sent, i.error, i.error_code, i.delay_ms
    from input i
    cross join lateral (
      select ctid as row, client_id, id, channel_id, batch_id, recipient, started_at, state, attempts
      from sends
      where client_id = i.client_id
      and id = i.id
      and lease = i.lease
      limit 1
      for update
    ) s
  ),
  settled as (
    delete from sends s
    where s.ctid = any(array(select row from held where outcome in ('accepted', 'refused', 'settled')))
    returning s.id
  ),
  kept as (
    update sends s
    set
      state = case h.outcome when 'unknown' then 'unknown' else 'waiting' end,
      attempts = h.attempts,
      next_attempt_at = coalesce(now() + h.delay_ms * interval '1 millisecond', s.next_attempt_at),
      -- The batch of a send that was unknown may be finished: its expiry no longer ends the send.
      expires_at = case when h.is_counted then least(s.expires_at, now() + $2 * interval '1 millisecond') else s.expires_at end,
      parts_sent = h.parts_sent,
      platform_message_id = h.platform_message_id,
      last_error = coalesce(h.error, s.last_error),
      last_error_code = coalesce(h.error_code, s.last_error_code),
      started_at = case when h.attempts > 0 or h.parts_sent > 0 then s.started_at end,
      sending_at = case h.outcome when 'unknown' then s.sending_at end,
      worker_id = null,
      lease = case h.outcome when 'unknown' then s.lease end,
      claimed_at = null
    from held h
    where h.outcome in ('unknown', 'waiting')
    and s.ctid = h.row
    returning s.id
  ),
  written as materialized (
    select id from settled
    union all
    select id from kept
  ),
  recorded as (
    update messages m
    set
      status = case
        when m.status in ${UNSETTLED_STATUSES} then coalesce(h.steps -> -1 ->> 'status', m.status)
        else m.status
      end,
      timeline = case
        when h.outcome = 'waiting' then m.timeline
        when m.status in ${UNSETTLED_STATUSES} then ${sendingStep("h.started_at")} || m.timeline || h.steps
        else ${sendingStep("h.started_at")} || h.steps || m.timeline
      end,
      platform_message_id = coalesce(h.platform_message_id, m.platform_message_id),
      caption_message_id = coalesce(h.caption_message_id, m.caption_message_id),
      error = case when m.status in ${UNSETTLED_STATUSES} and h.outcome <> 'waiting' then h.error else m.error end,
      error_code = case
        when m.status in ${UNSETTLED_STATUSES} and h.outcome <> 'waiting' then h.error_code
        else m.error_code
      end,
      failed_at = case when h.outcome = 'refused' then now() else m.failed_at end,
      finished_at = case when h.outcome in ('accepted', 'refused') then ${FINISHED_AT} else m.finished_at end,
      attempts = h.attempts,
      platform_attempts = ${appendAttempt(
        "case when h.is_counted then m.platform_attempts - (-1) else m.platform_attempts end",
        "case when h.attempt is null then '[]' else jsonb_build_object('attempt', h.attempts) || h.attempt end",
      )}
    from held h
    where ${isAmong("h.id", "written")}
    and m.client_id = h.client_id
    and m.id = h.id
    and h.outcome <> 'settled'
    and (h.outcome <> 'waiting' or h.attempt is not null)
  )
  select
    h.client_id, h.id, h.channel_id, h.batch_id, h.recipient,
    h.is_counted and h.outcome = 'waiting' and h.batch_id <> '' as is_late,
    ${isAmong("h.id", "written")} as is_written
  from held h`);

type FinishedSend = ChannelRecipient & { client_id: string; id: string; is_late: boolean };

/**
 * Opens cancelled batches again that ended while the outcome of a send was unknown. Each batch is locked, whatever its status: a
 * cancel or an end at the same time sees the send.
 */
const REOPEN = sql(`
  update batches b
  set finished_at = case when b.status <> 'cancelled' then b.finished_at end
  from unnest($1::uuid[], $2::text[]) as late (client_id, id)
  where b.client_id = late.client_id
  and b.id = late.id`);

const withoutNulls = (attempt: PlatformAttempt): Partial<PlatformAttempt> =>
  Object.fromEntries(Object.entries(attempt).filter(([, value]) => value !== null));

/**
 * Spans all clients: stores outcomes of the sends whose lease is still valid, and returns these sends. The supervision cancels one
 * that was not sent after all when its batch was cancelled, and ends the batch again.
 */
export async function finishSends(tx: Queryable, finishes: readonly SendFinish[]): Promise<FinishedSend[]> {
  const finished = await writeFinishes(tx, sortById(finishes));
  const late = finished.filter(({ is_late }) => is_late);
  if (late.length > 0)
    await tx.query(REOPEN, [late.map(({ client_id }) => client_id), late.map(({ batch_id }) => batch_id)]);
  return finished;
}

/** Repeats the outcomes of sends that changed while their locks were awaited: the transaction has the locks now, and sees the change. */
async function writeFinishes(tx: Queryable, finishes: readonly SendFinish[]): Promise<FinishedSend[]> {
  const input = finishes.map((finish) => ({
    ...finish,
    attempt: finish.attempt && withoutNulls(finish.attempt),
  }));
  const held = await tx.query<FinishedSend & { is_written: boolean }>(FINISH, [
    JSON.stringify(input),
    SEND_TTL_MS,
  ]);
  const written = held.filter(({ is_written }) => is_written);
  if (written.length === held.length) return written;
  const missed = new Set(held.filter(({ is_written }) => !is_written).map(({ id }) => id));
  const repeated = finishes.filter(({ id }) => missed.has(id));
  return [...written, ...(await writeFinishes(tx, repeated))];
}
