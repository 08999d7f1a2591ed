import { MAX_BLOCKING_RETRY_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";
import { isBlockingLaterSends, type SendRef } from "./claim-sends.ts";

/** Everything here spans all clients: the order of messages to the same person. */

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

/** Releases the next send to each of these people, unless an earlier one blocks it. */
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

/** Releases the next send to every person, in case the send before it ended without releasing it. */
export async function releaseAllSends(tx: Queryable): Promise<void> {
  await tx.query(RELEASE_ALL, [MAX_BLOCKING_RETRY_MS]);
}
