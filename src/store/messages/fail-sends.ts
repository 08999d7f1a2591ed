import { firstIdAt } from "../../runtime/ids.ts";
import { type Queryable, sql } from "../database/database.ts";
import { IS_QUARANTINED, isLeaseExpired, LEASE_LIMITS } from "../processes/workers.ts";
import {
  FINISHED_AT,
  SETTLED_COLUMNS,
  type SettledSend,
  type StoredError,
  sendingStep,
  TO_BE_SENT_STATES,
  UNLEASED_STATES,
  UNSETTLED_STATUSES,
} from "./lifecycle.ts";

/** Everything here spans all clients: it fails messages that can no longer be sent. */

/**
 * `error` and `code` are the SQL of the reason. An `unknown` send sets outcome_unknown: a status webhook may still arrive.
 */
const failStatement = (condition: string, { error, code }: { error: string; code: string }) => `
  with over as materialized (
    select
      s.client_id, s.id, s.attempts, s.started_at, s.platform_message_id, s.state = 'unknown' as is_unknown,
      ${error} as error, ${code} as error_code
    from sends s
    join channels c on c.client_id = s.client_id and c.id = s.channel_id
    where ${condition}
    limit 500
    for update of s skip locked
  ),
  deleted as (
    delete from sends s
    using over o
    where s.client_id = o.client_id
    and s.id = o.id
  )
  update messages m
  set
    status = 'failed',
    failed_at = now(),
    finished_at = ${FINISHED_AT},
    timeline = ${sendingStep("o.started_at")} || m.timeline || jsonb_build_array(jsonb_build_object('status', 'failed', 'at', now())),
    error = o.error,
    error_code = o.error_code,
    outcome_unknown = o.is_unknown,
    attempts = o.attempts,
    platform_message_id = coalesce(m.platform_message_id, o.platform_message_id)
  from over o
  where o.id like 'msg%'
  and m.client_id = o.client_id
  and m.id = o.id
  and m.status in ${UNSETTLED_STATUSES}
  returning ${SETTLED_COLUMNS}`;

/** A StoredError in the first two parameters. */
const FIRST_PARAMETERS = { error: "$1", code: "$2" };

const FAIL_UNKNOWN = sql(
  failStatement("s.state = 'unknown' and s.next_attempt_at <= now()", FIRST_PARAMETERS),
);

/** The last error of the send, or a StoredError in the first two parameters when it has none. */
const LAST_ERROR = {
  error: "coalesce(s.last_error, $1)",
  code: "case when s.last_error is null then $2 else s.last_error_code end",
};

const FAIL_EXPIRED = sql(
  failStatement(`s.state in ${UNLEASED_STATES} and s.expires_at <= now()`, {
    error: `case when c.status <> 'connected' then $3 else ${LAST_ERROR.error} end`,
    code: `case when c.status <> 'connected' then $4 else ${LAST_ERROR.code} end`,
  }),
);

/**
 * Finds each channel with one index access: a scan of all sends would take longer the more of them wait. The sends of a batch
 * stay: the batch is paused.
 */
const LIST_DISCONNECTED_CHANNELS = sql(`
  with recursive found as (
    (
      select channel_id
      from sends
      order by channel_id
      limit 1
    )
    union all
    select (
      select s.channel_id
      from sends s
      where s.channel_id > f.channel_id
      order by s.channel_id
      limit 1
    )
    from found f
    where f.channel_id is not null
  )
  select c.id
  from found f
  join channels c on c.id = f.channel_id and c.status = 'disconnected'`);

const FAIL_DISCONNECTED = sql(
  failStatement(
    `s.channel_id = any($3) and s.batch_id = '' and s.state in ${UNLEASED_STATES} and c.status = 'disconnected'`,
    FIRST_PARAMETERS,
  ),
);

const FAIL_QUARANTINED = sql(failStatement(`s.state = 'waiting' and s.${IS_QUARANTINED}`, FIRST_PARAMETERS));

/** Fails unknown sends whose status did not arrive in time. */
export const failUnknown = (tx: Queryable, { error, error_code }: StoredError): Promise<SettledSend[]> =>
  tx.query<SettledSend>(FAIL_UNKNOWN, [error, error_code]);

/** Fails expired sends with their last error, or with `unconnected` when their channel is not connected. */
export const failExpired = (
  tx: Queryable,
  { expired, unconnected }: { expired: StoredError; unconnected: StoredError },
): Promise<SettledSend[]> =>
  tx.query<SettledSend>(
    FAIL_EXPIRED,
    [expired, unconnected].flatMap(({ error, error_code }) => [error, error_code]),
  );

/** Fails single sends whose channel was disconnected. */
export async function failDisconnected(
  tx: Queryable,
  { error, error_code }: StoredError,
): Promise<SettledSend[]> {
  const channels = await tx.query<{ id: string }>(LIST_DISCONNECTED_CHANNELS);
  if (channels.length === 0) return [];
  return tx.query<SettledSend>(FAIL_DISCONNECTED, [error, error_code, channels.map(({ id }) => id)]);
}

const LIST_EXPIRED_BATCHES = sql(`
  select client_id, id
  from batches
  where finished_at is null
  and status in ('running', 'cancelled')
  and expires_at <= now()
  limit 10`);

const FAIL_EXPIRED_OF_BATCH = sql(
  failStatement(
    `s.client_id = $3 and s.batch_id = $4 and s.batch_id <> '' and s.state in ${UNLEASED_STATES}`,
    LAST_ERROR,
  ),
);

/** Fails sends of batches that have expired, with their last error. A batch that is paused does not expire. */
export async function failExpiredOfBatches(
  tx: Queryable,
  { error, error_code }: StoredError,
): Promise<SettledSend[]> {
  const batches = await tx.query<{ client_id: string; id: string }>(LIST_EXPIRED_BATCHES);
  const failed: SettledSend[] = [];
  for (const { client_id, id } of batches)
    failed.push(...(await tx.query<SettledSend>(FAIL_EXPIRED_OF_BATCH, [error, error_code, client_id, id])));
  return failed;
}

/** Fails sends whose dispatchers died before they sent anything. */
export const failQuarantined = (tx: Queryable, { error, error_code }: StoredError): Promise<SettledSend[]> =>
  tx.query<SettledSend>(FAIL_QUARANTINED, [error, error_code]);

/** Selects messages of a client: those accepted before this time, and not scheduled for it or later. */
export interface DiscardScope {
  clientId: string;
  before: Date;
}

const IS_IN_SCOPE = `s.client_id = $3
    and s.id < $4
    and (s.state in ${TO_BE_SENT_STATES} or s.state = 'scheduled' and s.next_attempt_at < $5)`;

/** SQL: true for a send that no living dispatcher has claimed and whose request was not written. */
const IS_DISCARDABLE = `(
      s.state in ${UNLEASED_STATES}
      or s.state = 'scheduled'
      or s.state = 'claimed' and s.sending_at is null and ${isLeaseExpired("s")}
    )`;

const DISCARD = sql(failStatement(`${IS_IN_SCOPE} and ${IS_DISCARDABLE}`, { error: "$6", code: "$7" }));

const COUNT = sql(`
  select count(*)::integer as total, (count(*) filter (where ${IS_DISCARDABLE}))::integer as discardable
  from sends s
  where ${IS_IN_SCOPE}`);

const valuesOf = ({ clientId, before }: DiscardScope) => [
  LEASE_LIMITS.deadAfter,
  LEASE_LIMITS.maxLeaseMs,
  clientId,
  firstIdAt("msg", before.getTime()),
  before,
];

/** Fails a batch of queued messages with this error; returns them. */
export const discardSends = (
  tx: Queryable,
  scope: DiscardScope,
  { error, error_code }: StoredError,
): Promise<SettledSend[]> => tx.query<SettledSend>(DISCARD, [...valuesOf(scope), error, error_code]);

interface DiscardCounts {
  /** Messages that are still to be sent. */
  total: number;
  /** Those that no dispatcher is sending. */
  discardable: number;
}

export async function countDiscardableSends(db: Queryable, scope: DiscardScope): Promise<DiscardCounts> {
  const [row] = await db.query<DiscardCounts>(COUNT, valuesOf(scope));
  return row as DiscardCounts;
}
