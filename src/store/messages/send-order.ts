import { MAX_BLOCKING_RETRY_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";
import type { DueSendKey } from "./claim-sends.ts";
import { TO_BE_SENT_STATES } from "./lifecycle.ts";

/**
 * The order of messages to one person on one channel, among single messages and within each batch. A send is `behind` while an earlier one blocks it: acceptMessages
 * places it there. A send blocks later ones until it is sent, fails or is unknown, or until its retry is far away.
 * The transaction that ends this calls releaseNextSends, which makes the next send `waiting`. Two such transactions at the
 * same time may each leave it to the other: releaseMissedSends finds what they missed.
 */

/**
 * SQL: true while later messages to the same person wait for this send. A retry blocks them only while it is
 * due within `maxRetryMs`, a parameter that is set to MAX_BLOCKING_RETRY_MS.
 */
export const isBlockingLaterSends = (send: string, maxRetryMs: string): string =>
  `(${send}.state in ${TO_BE_SENT_STATES} and (${send}.attempts = 0 or ${send}.next_attempt_at <= now() + ${maxRetryMs} * interval '1 millisecond'))`;

/**
 * Releases the first `behind` send to each person of the CTE `people`, unless an earlier send blocks it. It keeps the time of
 * its acceptance, so that it goes before the sends that were accepted later. The lock allows a concurrent acceptance of
 * a message that waits for this one. The order and the limit of each lookup keep Postgres from reading all sends of a channel,
 * whatever its statistics say; `people` has at most MAX_RELEASED_PEOPLE rows, so that even that would end.
 */
const RELEASE_FIRST = `
  first as materialized (
    select s.row
    from people p
    cross join lateral (
      select client_id, id, place
      from sends
      where channel_id = p.channel_id
      and batch_id = p.batch_id
      and recipient = p.recipient
      and state = 'behind'
      order by place
      limit 1
    ) n
    left join lateral (
      select earlier.place
      from sends earlier
      where earlier.channel_id = p.channel_id
      and earlier.batch_id = p.batch_id
      and earlier.recipient = p.recipient
      and earlier.place < n.place
      and ${isBlockingLaterSends("earlier", "$1")}
      order by earlier.place desc
      limit 1
    ) blocking on true
    cross join lateral (
      select ctid as row
      from sends
      where client_id = n.client_id
      and id = n.id
      and (state = 'behind') is true -- otherwise Postgres may read all rows of this state
      and blocking.place is null
      limit 1
      for no key update skip locked
    ) s
  ),
  released as (
    update sends s
    set state = 'waiting'
    where s.ctid = any(array(select row from first))
    returning s.client_id, s.channel_id, s.batch_id, s.next_attempt_at
  )`;

const KEYS_OF_RELEASED = `
  select
    client_id as "clientId", channel_id as "channelId", batch_id as "batchId", false as "isSuspect",
    min(next_attempt_at) as after
  from released
  group by client_id, channel_id, batch_id`;

/** Separate from the statement that finishes sends, which does not see sends accepted while it waited for locks. */
const RELEASE_NEXT = sql(`
  with people as (
    select distinct channel_id, batch_id, recipient
    from unnest($2::text[], $3::text[], $4::text[]) as p (channel_id, batch_id, recipient)
  ),${RELEASE_FIRST}${KEYS_OF_RELEASED}`);

/** A person on a channel, in a batch or among single messages. */
export interface ChannelRecipient {
  channel_id: string;
  /** Empty for single messages. */
  batch_id: string;
  recipient: string;
}

const MAX_RELEASED_PEOPLE = 100;

/** Spans all clients: releases the next send to each of these people, unless an earlier one blocks it. Returns their keys. */
export async function releaseNextSends(
  tx: Queryable,
  recipients: readonly ChannelRecipient[],
): Promise<DueSendKey[]> {
  const released: DueSendKey[] = [];
  for (let index = 0; index < recipients.length; index += MAX_RELEASED_PEOPLE)
    released.push(...(await releaseNext(tx, recipients.slice(index, index + MAX_RELEASED_PEOPLE))));
  return released;
}

const releaseNext = (tx: Queryable, recipients: readonly ChannelRecipient[]): Promise<DueSendKey[]> =>
  tx.query<DueSendKey>(RELEASE_NEXT, [
    MAX_BLOCKING_RETRY_MS,
    recipients.map(({ channel_id }) => channel_id),
    recipients.map(({ batch_id }) => batch_id),
    recipients.map(({ recipient }) => recipient),
  ]);

/** Finds each person with one index access, from the one after ($2, $3, $4) on. */
const RELEASE_MISSED = sql(`
  with recursive found as (
    (
      select channel_id, batch_id, recipient
      from sends
      where state = 'behind'
      and (channel_id, batch_id, recipient) > ($2, $3, $4)
      order by channel_id, batch_id, recipient
      limit 1
    )
    union all
    select n.channel_id, n.batch_id, n.recipient
    from found f
    cross join lateral (
      select s.channel_id, s.batch_id, s.recipient
      from sends s
      where s.state = 'behind'
      and (s.channel_id, s.batch_id, s.recipient) > (f.channel_id, f.batch_id, f.recipient)
      order by s.channel_id, s.batch_id, s.recipient
      limit 1
    ) n
  ),
  people as materialized (
    select channel_id, batch_id, recipient
    from found
    limit ${MAX_RELEASED_PEOPLE}
  ),
  last_person as (
    select channel_id, batch_id, recipient
    from people
    order by channel_id desc, batch_id desc, recipient desc
    limit 1
  ),${RELEASE_FIRST}
  select
    (select count(*)::integer from people) as checked,
    l.channel_id,
    l.batch_id,
    l.recipient,
    (select count(*)::integer from released) as released
  from last_person l`);

interface CheckedPeople extends ChannelRecipient {
  checked: number;
  released: number;
}

/**
 * Spans all clients: checks some of the people with `behind` sends, from the one after `last` on. Returns the last person
 * that it checked; undefined when it has come to the end.
 */
export async function releaseMissedSends(
  tx: Queryable,
  last: ChannelRecipient | undefined,
): Promise<ChannelRecipient | undefined> {
  const values = [MAX_BLOCKING_RETRY_MS, last?.channel_id ?? "", last?.batch_id ?? "", last?.recipient ?? ""];
  const [row] = await tx.query<CheckedPeople>(RELEASE_MISSED, values);
  return row && row.checked === MAX_RELEASED_PEOPLE ? row : undefined;
}
