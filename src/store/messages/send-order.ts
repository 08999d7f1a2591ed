import { MAX_BLOCKING_RETRY_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";
import type { SendRef } from "./claim-sends.ts";
import { TO_BE_SENT_STATES } from "./lifecycle.ts";

/**
 * The order of messages to one person on one channel. A send is `behind` while an earlier one blocks it:
 * acceptMessages places it there, releaseNextSends and releaseAllSends make it `waiting`.
 * A send blocks later ones until it is sent, fails or is unknown, or until its retry is far away.
 * While the channel is not connected, every send blocks: none is released.
 * resumeSends restores the order of acceptance: of the sends to one person, the first one is due and the
 * others are `behind` it, even if they were `waiting` or in a stream, whose entries then claim nothing.
 */

/**
 * SQL: true while later messages to the same person wait for this send. A retry blocks them only while it is
 * due within `maxRetryMs`, a parameter that is set to MAX_BLOCKING_RETRY_MS.
 */
export const isBlockingLaterSends = (send: string, maxRetryMs: string): string =>
  `(${send}.state in ${TO_BE_SENT_STATES} and (${send}.attempts = 0 or ${send}.next_attempt_at < now() + ${maxRetryMs} * interval '1 millisecond'))`;

/**
 * Releases the first `behind` send to each person when no earlier send blocks it. With its slot time set, it
 * goes before sends that have no slot yet.
 */
const releaseStatement = (firsts: string) => `
  with first as materialized (${firsts}
  ),
  chosen as materialized (
    select s.client_id, s.id
    from first f
    join sends s on s.client_id = f.client_id and s.id = f.id
    join channels c on c.id = s.channel_id and c.status = 'connected'
    where s.state = 'behind'
    and not exists (
      select
      from sends earlier
      where earlier.channel_id = s.channel_id
      and earlier.recipient = s.recipient
      and earlier.place < s.place
      and ${isBlockingLaterSends("earlier", "$1")}
    )
    order by s.id
    for update of s skip locked
  )
  update sends s
  set state = 'waiting', next_attempt_at = now(), slot_at = now()
  from chosen c
  where s.client_id = c.client_id
  and s.id = c.id
  returning s.client_id as "clientId", s.id, s.channel_id as "channelId"`;

/**
 * Separate from the statement that finishes sends, which does not see sends accepted while it waited for
 * locks.
 */
const RELEASE_NEXT = sql(
  releaseStatement(`
    select n.client_id, n.id
    from unnest($2::text[], $3::text[]) as p (channel_id, recipient)
    cross join lateral (
      select client_id, id
      from sends
      where channel_id = p.channel_id
      and recipient = p.recipient
      and state = 'behind'
      order by place
      limit 1
    ) n`),
);

const RELEASE_ALL = sql(
  releaseStatement(`
    select distinct on (channel_id, recipient) client_id, id
    from sends
    where state = 'behind'
    order by channel_id, recipient, place`),
);

/** A person on a channel. */
export interface ChannelRecipient {
  channel_id: string;
  recipient: string;
}

/** Spans all clients: releases the next send to each of these people, unless an earlier one blocks it. */
export async function releaseNextSends(
  tx: Queryable,
  recipients: readonly ChannelRecipient[],
): Promise<SendRef[]> {
  const values = [
    MAX_BLOCKING_RETRY_MS,
    recipients.map(({ channel_id }) => channel_id),
    recipients.map(({ recipient }) => recipient),
  ];
  const rows = await tx.query<SendRef>(RELEASE_NEXT, values);
  return rows.map((row) => ({ ...row, slotAt: Date.now() }));
}

/** Spans all clients: releases the next send to every person, in case the send before it ended without releasing it. */
export async function releaseAllSends(tx: Queryable): Promise<void> {
  await tx.query(RELEASE_ALL, [MAX_BLOCKING_RETRY_MS]);
}

/** Locks rows by id like all other statements, to avoid deadlocks. */
const RESUME = sql(`
  with waiting as materialized (
    select client_id, id, recipient, place
    from sends
    where channel_id = $1
    and client_id = $2
    and state = 'waiting'
    order by id
    for update
  )
  update sends s
  set
    state = case
      when exists (
        select
        from sends earlier
        where earlier.channel_id = $1
        and earlier.recipient = w.recipient
        and earlier.place < w.place
        and earlier.state in ${TO_BE_SENT_STATES}
      ) then 'behind'
      else 'waiting'
    end,
    next_attempt_at = now(),
    enqueued_at = null
  from waiting w
  where s.client_id = w.client_id
  and s.id = w.id`);

/**
 * Makes the first waiting send to each person on the channel due, after the channel was reconnected or
 * disconnected. The dispatchers send it or the sweep fails it.
 */
export async function resumeSends(tx: Queryable, clientId: string, channelId: string): Promise<void> {
  await tx.query(RESUME, [channelId, clientId]);
}
