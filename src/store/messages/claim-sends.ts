import { COMMIT_IN_MEMORY, type Database, type Queryable, sql } from "../database/database.ts";
import { createQueueScan, type ScanLimits, selectPages } from "../database/queue-scan.ts";
import { sortById } from "../events/events.ts";
import { IS_HELD, IS_NOT_HELD } from "../processes/queue-hold.ts";
import { IS_NOT_QUARANTINED, IS_NOT_SUSPECT, IS_SUSPECT } from "../processes/workers.ts";
import { UNSETTLED_STATUSES } from "./lifecycle.ts";

/** Everything here spans all clients: dispatchers claim the rows of sends. */

/** Sends that must not delay others: those of one channel and batch. Sends whose dispatchers died repeatedly are apart. */
export interface SendKey {
  clientId: string;
  channelId: string;
  /** Empty for single messages. */
  batchId: string;
  isSuspect: boolean;
}

/** A key with a send that is due, and the time from which on it has such sends. */
export interface DueSendKey extends SendKey {
  after: Date;
}

/** SQL: reads one row of each key with waiting sends, in order, from the one after `last` on. */
const selectKeys = (name: string, condition: string, last: string) => `${name} as (
    (
      select channel_id, batch_id, next_attempt_at
      from sends
      where state = 'waiting'
      and ${condition}
      and (channel_id, batch_id) > ${last}
      order by channel_id, batch_id, next_attempt_at
      limit 1
    )
    union all
    select n.channel_id, n.batch_id, n.next_attempt_at
    from ${name} k
    cross join lateral (
      select s.channel_id, s.batch_id, s.next_attempt_at
      from sends s
      where s.state = 'waiting'
      and s.${condition}
      and (s.channel_id, s.batch_id) > (k.channel_id, k.batch_id)
      order by s.channel_id, s.batch_id, s.next_attempt_at
      limit 1
    ) n
  )`;

/** Suspects come first: many of them must not keep the other keys out. */
const MAX_POLLED_SUSPECTS = 100;

/**
 * SQL: a batch whose sends may be claimed; of a cancelled one only those of which a part was sent. A finished one has a send
 * when the dispatcher of an unknown one reports that it was not sent.
 */
const fromActiveBatch = (clientId: string, batchId: string): string => `
      from batches b
      where ${batchId} <> ''
      and b.client_id = ${clientId}
      and b.id = ${batchId}
      and b.status in ('running', 'cancelled', 'finished')
      and b.expires_at > now()`;

/** SQL: the due keys of the CTE `found`, up to $3. It may return a cancelled batch of which a claim takes nothing. */
const SELECT_DUE_KEYS = `
  select
    c.client_id as "clientId", f.channel_id as "channelId", f.batch_id as "batchId", f.is_suspect as "isSuspect", f.after
  from found f
  cross join lateral (
    select client_id
    from channels
    where id = f.channel_id
    and status = 'connected'
    limit 1
  ) c
  where f.after <= now()
  and (
    f.batch_id = ''
    or exists (
      select${fromActiveBatch("c.client_id", "f.batch_id")}
    )
  )
  order by f.is_suspect desc, f.channel_id, f.batch_id
  limit $3`;

/** Its cost is the number of keys, not of sends. */
const POLL = sql(`
  with recursive ${selectKeys("keys", IS_NOT_SUSPECT, "($1, $2)")},
  ${selectKeys("suspects", IS_SUSPECT, "('', '')")},
  found as (
    select channel_id, batch_id, false as is_suspect, next_attempt_at as after
    from keys
    union all
    (
      select channel_id, batch_id, true, next_attempt_at
      from suspects
      limit ${MAX_POLLED_SUSPECTS}
    )
  )${SELECT_DUE_KEYS}`);

const POLL_PAGES = sql(`
  with page_rows as materialized (${selectPages("sends", "channel_id, batch_id, state, deaths, next_attempt_at", 4)}
  ),
  found as (
    select channel_id, batch_id, ${IS_SUSPECT} as is_suspect, min(next_attempt_at) as after
    from page_rows
    where state = 'waiting'
    and (${IS_SUSPECT} or (channel_id, batch_id) > ($1, $2))
    group by 1, 2, 3
  )${SELECT_DUE_KEYS}`);

/** Lists up to `limit` keys with sends that are due on connected channels, from the key after `last` on; suspects first. */
export type SendPoll = (
  last: Pick<SendKey, "channelId" | "batchId"> | undefined,
  limit: number,
) => Promise<DueSendKey[]>;

export function createSendPoll(db: Database, limits?: ScanLimits): SendPoll {
  const scan = createQueueScan<DueSendKey>(db, { table: "sends", indexed: POLL, paged: POLL_PAGES }, limits);
  return (last, limit) => scan.read([last?.channelId ?? "", last?.batchId ?? "", limit]);
}

/** How many sends of a key to claim. */
export interface SendClaimRequest extends SendKey {
  max: number;
  /** First attempts that were due before are left out, and retries too unless they are younger than a minute; null for 30 seconds ago. */
  after: Date | null;
}

/** A claimed send, its message and its channel. */
export interface ClaimedSend {
  client_id: string;
  id: string;
  attempts: number;
  /** Why the send is retried, as JSON; null on the first attempt. */
  last_error: string | null;
  parts_sent: number;
  /** The platform's id of the part that was sent before. */
  platform_message_id: string | null;
  next_attempt_at: Date;
  expires_at: Date;
  recipient: string;
  platform: string;
  type: string;
  /** JSON; in a batch: of the fields that replace those of the batch's content, null without any. */
  content: string | null;
  /** JSON of the content that the messages of a batch share; null outside of a batch. */
  batch_content: string | null;
  options: string | null;
  external_ref: string | null;
  channel_external_ref: string | null;
  channel_id: string;
  batch_id: string;
  is_suspect: boolean;
  /** True when a status webhook has settled the message: it is not sent again. */
  is_settled: boolean;
  waba_id: string | null;
  phone_number_id: string | null;
  page_id: string | null;
  token_sealed: string;
}

/** `is true`: with statistics of an empty table the planner might otherwise prefer the index of `expires_at`. */
const selectDue = (condition: string) => `
        select s.ctid as row
        from sends s
        where s.channel_id = wanted.channel_id
        and s.batch_id = wanted.batch_id
        and s.state = 'waiting'
        and (s.expires_at > now()) is true
        and (batch.status is distinct from 'cancelled' or s.parts_sent > 0)
        and ${condition}
        order by s.next_attempt_at, s.place
        limit wanted.max
        for no key update of s skip locked`;

const AFTER = "coalesce(wanted.after, now() - interval '30 seconds')";
/** Retries of the last minute at least: the watermark is that of first attempts, and a retry may be due a little before it. */
const RETRIED = `s.${IS_NOT_SUSPECT} and s.attempts > 0 and not wanted.is_suspect
        and s.next_attempt_at between least(${AFTER}, now() - interval '1 minute') and now()`;
const FRESH = `s.${IS_NOT_SUSPECT} and s.attempts = 0 and not wanted.is_suspect
        and s.next_attempt_at between ${AFTER} and now()`;
const SUSPECT = `s.${IS_SUSPECT} and s.${IS_NOT_QUARANTINED} and s.next_attempt_at <= now() and wanted.is_suspect`;

/**
 * Retries come first: they were accepted before the others. The lock allows a concurrent acceptance of a message that
 * waits for this one. The commit need not reach the disk: a send whose claim is lost is not marked, and MARK_SENDING
 * saves the claim too. `(select $n)`: otherwise Postgres may plan the statement anew each time. `ctid` and `limit 1`: with
 * statistics of an empty table the planner would join by reading all rows of a table. Sends of deleted clients have no channel.
 * `unknown` is not settled: its dispatcher reported a failure since.
 */
const CLAIM = sql(`
  with due as materialized (
    select found.row
    from unnest(
      (select $3::uuid[]), (select $4::text[]), (select $5::text[]), (select $6::boolean[]), (select $7::integer[]),
      (select $8::timestamptz[])
    ) as wanted (client_id, channel_id, batch_id, is_suspect, max, after)
    join channels c
      on c.client_id = wanted.client_id
      and c.id = wanted.channel_id
      and c.status = 'connected'
      and c.token_sealed is not null
    left join lateral (
      select b.status${fromActiveBatch("wanted.client_id", "wanted.batch_id")}
      limit 1
    ) batch on true
    cross join lateral (
      select row
      from (${selectDue(RETRIED)}
      ) retried
      union all
      select row
      from (${selectDue(FRESH)}
      ) fresh
      union all
      select row
      from (${selectDue(SUSPECT)}
      ) suspect
      limit wanted.max
    ) found
    where ${IS_NOT_HELD}
    and ${COMMIT_IN_MEMORY}
    and (wanted.batch_id = '' or batch.status is not null)
  ),
  claimed as (
    update sends s
    set state = 'claimed', worker_id = $2, lease = $1, claimed_at = now()
    where s.ctid = any(array(select row from due))
    returning
      s.client_id, s.id, s.attempts, s.last_error, s.parts_sent, s.platform_message_id, s.next_attempt_at, s.expires_at,
      s.recipient, s.channel_id, s.batch_id, s.${IS_SUSPECT} as is_suspect
  )
  select
    s.client_id, s.id, s.attempts, s.last_error, s.parts_sent, s.platform_message_id, s.next_attempt_at,
    least(s.expires_at, b.expires_at) as expires_at, s.recipient, s.channel_id, s.batch_id, s.is_suspect,
    c.waba_id, c.phone_number_id, c.page_id, c.token_sealed, c.external_ref as channel_external_ref,
    m.platform, m.type, m.content, b.content as batch_content, m.options, m.external_ref,
    m.status not in ${UNSETTLED_STATUSES} as is_settled
  from claimed s
  cross join lateral (
    select platform, type, content, options, external_ref, status
    from messages
    where client_id = s.client_id
    and id = s.id
    limit 1
  ) m
  cross join lateral (
    select waba_id, phone_number_id, page_id, token_sealed, external_ref
    from channels
    where id = s.channel_id
    limit 1
  ) c
  left join lateral (
    select content, expires_at
    from batches
    where s.batch_id <> ''
    and client_id = s.client_id
    and id = s.batch_id
    limit 1
  ) b on true`);

export interface SendLease {
  token: string;
  worker: string;
}

/** Claims sends that are due; none while the queue is held or their channel is not connected. */
export function claimSends(
  db: Queryable,
  requests: readonly SendClaimRequest[],
  { token, worker }: SendLease,
): Promise<ClaimedSend[]> {
  const column = <Name extends keyof SendClaimRequest>(name: Name) =>
    requests.map((request) => request[name]);
  const keys = [column("clientId"), column("channelId"), column("batchId"), column("isSuspect")];
  return db.query<ClaimedSend>(CLAIM, [token, worker, ...keys, column("max"), column("after")]);
}

const RELEASE_CLAIM = sql(`
  update sends
  set state = 'waiting', worker_id = null, lease = null, claimed_at = null
  where state = 'claimed'
  and worker_id = $2
  and lease = $1
  and sending_at is null`);

/** Makes the sends of a claim wait again, because its answer was lost. */
export async function releaseSendClaim(db: Queryable, { token, worker }: SendLease): Promise<void> {
  await db.query(RELEASE_CLAIM, [token, worker]);
}

/** Written before a request is sent: the parts accepted so far and the platform's id of them. */
export interface SendMark {
  client_id: string;
  id: string;
  lease: string;
  parts_sent: number;
  platform_message_id: string | null;
}

/**
 * A send with a lease is `claimed` or `unknown`. The condition does not name `claimed`: the planner would search all claimed
 * sends instead of looking each one up by its key. See CLAIM for the limit and `ctid`.
 */
const MARK_SENDING = sql(`
  with input as materialized (
    select i.client_id, i.id, i.lease, i.parts_sent, i.platform_message_id
    from json_to_recordset($1) as i (
      client_id uuid,
      id text,
      lease uuid,
      parts_sent integer,
      platform_message_id text
    )
    where i.id like 'msg%' -- as a hint that few rows match
  ),
  held as materialized (
    select s.row, i.parts_sent, i.platform_message_id
    from input i
    cross join lateral (
      select s.ctid as row
      from sends s
      where s.client_id = i.client_id
      and s.id = i.id
      and s.lease = i.lease
      and s.state <> 'unknown'
      limit 1
      for no key update of s
    ) s
    where ${IS_NOT_HELD}
  ),
  marked as (
    update sends s
    set
      sending_at = now(),
      started_at = coalesce(s.started_at, now()),
      parts_sent = h.parts_sent,
      platform_message_id = h.platform_message_id
    from held h
    where s.ctid = h.row
    returning s.id
  )
  select coalesce(array_agg(id), '{}') as "markedIds", ${IS_HELD} as "isHeld"
  from marked`);

interface MarkResult {
  /** Ids of the sends whose lease is still valid: no other dispatcher may send them from now on. */
  markedIds: string[];
  /** True while the queue is held: then no send is marked, and one that was claimed before does not start. */
  isHeld: boolean;
}

export async function markSending(db: Queryable, marks: readonly SendMark[]): Promise<MarkResult> {
  const [row] = await db.query<MarkResult>(MARK_SENDING, [JSON.stringify(sortById(marks))]);
  return row as MarkResult;
}
