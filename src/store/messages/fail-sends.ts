import { firstIdAt } from "../../runtime/ids.ts";
import { type Queryable, type Statement, sql } from "../database/database.ts";
import { isAmong } from "../events/events.ts";
import { isLeaseExpired, LEASE_LIMITS } from "../processes/workers.ts";
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
import { columnsOf, lockFound, OVERDUE, type RecoveryStep, type SendRef } from "./overdue-sends.ts";

/** Everything here spans all clients: it fails messages that can no longer be sent. */

/**
 * Fails the sends `s` of the SQL `from`. `error` and `code` are the SQL of the reason. An `unknown` send sets outcome_unknown: a
 * status webhook may still arrive.
 */
const failStatement = (from: string, { error, code }: { error: string; code: string }) => `
  with over as materialized (
    select
      s.row, s.client_id, s.id, s.attempts, s.started_at, s.platform_message_id, s.state = 'unknown' as is_unknown,
      ${error} as error, ${code} as error_code
    from ${from}
  ),
  deleted as (
    delete from sends s
    where s.ctid = any(array(select row from over))
    returning s.id
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
  where ${isAmong("o.id", "deleted")}
  and o.id like 'msg%'
  and m.client_id = o.client_id
  and m.id = o.id
  and m.status in ${UNSETTLED_STATUSES}
  returning ${SETTLED_COLUMNS}`;

const IS_CONNECTED = `exists (
      select
      from channels c
      where c.client_id = s.client_id
      and c.id = s.channel_id
      and c.status = 'connected'
    )`;

/** A StoredError in these two parameters. */
const GIVEN_ERROR = { error: "$3", code: "$4" };

/** The last error of the send, or the given one when it has none. */
const LAST_ERROR = {
  error: "coalesce(s.last_error, $3)",
  code: "case when s.last_error is null then $4 else s.last_error_code end",
};

/** The error of a channel that is not connected in the next two parameters; of other channels the last error. */
const LAST_ERROR_OF_CONNECTED = {
  error: `case when ${IS_CONNECTED} then ${LAST_ERROR.error} else $5 end`,
  code: `case when ${IS_CONNECTED} then ${LAST_ERROR.code} else $6 end`,
};

const failOverdue = (step: FailingStep, error: { error: string; code: string }) =>
  sql(failStatement(lockFound({ clientIds: "$1", ids: "$2", condition: OVERDUE[step] }, "s.*"), error));

/** Steps of the recovery that fail sends. */
export type FailingStep = Extract<RecoveryStep, `fail_${string}`>;

const FAIL: Readonly<Record<FailingStep, Statement>> = {
  fail_unknown: failOverdue("fail_unknown", GIVEN_ERROR),
  fail_expired: failOverdue("fail_expired", LAST_ERROR_OF_CONNECTED),
  fail_quarantined: failOverdue("fail_quarantined", GIVEN_ERROR),
  fail_expired_in_batch: failOverdue("fail_expired_in_batch", LAST_ERROR),
  fail_disconnected: failOverdue("fail_disconnected", GIVEN_ERROR),
};

/** Fails those of these sends for which the condition of the step holds; `errors` are those of the statement, in order. */
export const failSends = (
  tx: Queryable,
  step: FailingStep,
  refs: readonly SendRef[],
  errors: readonly StoredError[],
): Promise<SettledSend[]> =>
  tx.query<SettledSend>(FAIL[step], [
    ...columnsOf(refs),
    ...errors.flatMap(({ error, error_code }) => [error, error_code]),
  ]);

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

const DISCARD = sql(
  failStatement(
    `(
      select s.ctid as row, s.*
      from sends s
      where ${IS_IN_SCOPE}
      and ${IS_DISCARDABLE}
      limit 500
      for update of s skip locked
    ) s`,
    { error: "$6", code: "$7" },
  ),
);

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
