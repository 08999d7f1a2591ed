import { type Database, sql } from "../database/database.ts";
import { createQueueScan, type ScanLimits, selectPages } from "../database/queue-scan.ts";
import { IS_QUARANTINED, isLeaseExpired, type LeaseLimits } from "../processes/workers.ts";
import { UNLEASED_STATES } from "./lifecycle.ts";

/** Everything here spans all clients: it finds the sends that a step of the recovery moves on. */

/** SQL: true for a send `s` that the step moves on. $1 and $2 are the limits of leases. */
export const OVERDUE = {
  requeue_unstarted: `s.state = 'claimed' and s.sending_at is null and ${isLeaseExpired("s")}`,
  mark_unknown: `s.state = 'claimed' and s.sending_at is not null and ${isLeaseExpired("s")}`,
  fail_unknown: "s.state = 'unknown' and s.next_attempt_at <= now()",
  fail_expired: `s.state in ${UNLEASED_STATES} and s.expires_at <= now()`,
  fail_quarantined: `s.state = 'waiting' and s.${IS_QUARANTINED}`,
  /** A batch that is paused does not expire. */
  fail_expired_in_batch: `s.batch_id <> '' and s.state in ${UNLEASED_STATES} and exists (
      select
      from batches b
      where b.client_id = s.client_id
      and b.id = s.batch_id
      and b.finished_at is null
      and b.status in ('running', 'cancelled')
      and b.expires_at <= now()
    )`,
  /** The sends of a batch stay: the batch is paused. */
  fail_disconnected: `s.batch_id = '' and s.state in ${UNLEASED_STATES} and exists (
      select
      from channels c
      where c.client_id = s.client_id
      and c.id = s.channel_id
      and c.status = 'disconnected'
    )`,
  start_due: "s.state = 'scheduled' and s.batch_id = '' and s.next_attempt_at <= now()",
  release_missed: "s.state = 'behind'",
} as const;

export type RecoveryStep = keyof typeof OVERDUE;

export const RECOVERY_STEPS = Object.keys(OVERDUE) as RecoveryStep[];

/** In each run; the others follow a second later. */
const MAX_SENDS_PER_STEP = 500;

const selectOverdue = (
  step: RecoveryStep,
  { from = "sends s", end = `limit ${MAX_SENDS_PER_STEP}` } = {},
): string => `(
    select '${step}' as step, s.client_id, s.id
    from ${from}
    where ${OVERDUE[step]}
    ${end}
  )`;

/** These two steps find their rows themselves: here one tells that there are any. The order is that of the index to use. */
const selectFirst = (step: "start_due" | "release_missed", order: string): string =>
  selectOverdue(step, { end: `order by ${order}\n    limit 1` });

const SENDS_OF_EXPIRED_BATCHES = `expired_batches o
    cross join lateral (
      select *
      from sends
      where client_id = o.client_id
      and batch_id = o.id
      and batch_id <> ''
      and state <> 'unknown'
      limit ${MAX_SENDS_PER_STEP}
    ) s`;

const SENDS_OF_DISCONNECTED_CHANNELS = `disconnected d
    cross join lateral (
      select *
      from sends
      where channel_id = d.id
      and batch_id = ''
      and state in ${UNLEASED_STATES}
      order by recipient
      limit ${MAX_SENDS_PER_STEP}
    ) s`;

/** Finds each channel, and each expired batch, with one index access: a scan of all sends takes longer the more of them wait. */
const FIND = sql(`
  with recursive sending_channels as (
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
    from sending_channels f
    where f.channel_id is not null
  ),
  disconnected as materialized (
    select c.client_id, c.id
    from sending_channels f
    cross join lateral (
      select client_id, id
      from channels
      where id = f.channel_id
      and status = 'disconnected'
      limit 1
    ) c
  ),
  expired_batches as materialized (
    select client_id, id
    from batches
    where finished_at is null
    and status in ('running', 'cancelled')
    and expires_at <= now()
    limit 10
  )
  ${[
    selectOverdue("requeue_unstarted"),
    selectOverdue("mark_unknown"),
    selectOverdue("fail_unknown"),
    selectOverdue("fail_expired"),
    selectOverdue("fail_quarantined"),
    selectOverdue("fail_expired_in_batch", { from: SENDS_OF_EXPIRED_BATCHES }),
    selectOverdue("fail_disconnected", { from: SENDS_OF_DISCONNECTED_CHANNELS }),
    selectFirst("start_due", "s.next_attempt_at, s.place"),
    selectFirst("release_missed", "s.channel_id, s.batch_id, s.recipient, s.place"),
  ].join("\n  union all\n  ")}`);

const COLUMNS = [
  ...["client_id", "id", "channel_id", "batch_id", "state", "sending_at", "worker_id", "claimed_at"],
  ...["next_attempt_at", "expires_at", "deaths"],
].join(", ");

const FIND_IN_PAGES = sql(`
  with page_rows as materialized (${selectPages("sends", COLUMNS, 3)}
  ),
  found as (
    select f.*, row_number() over (partition by f.step) as number
    from (
      select
        s.client_id,
        s.id,
        case
          ${RECOVERY_STEPS.map((step) => `when ${OVERDUE[step]} then '${step}'`).join("\n          ")}
        end as step
      from page_rows s
    ) f
    where f.step is not null
  )
  select step, client_id, id
  from found
  where number <= ${MAX_SENDS_PER_STEP}`);

/** Identifies a send. */
export interface SendRef {
  client_id: string;
  id: string;
}

/** Returns some of the sends of each step, in the order of their ids. */
export type OverdueSendFinder = (limits: LeaseLimits) => Promise<Map<RecoveryStep, SendRef[]>>;

export function createOverdueSendFinder(db: Database, scanLimits?: ScanLimits): OverdueSendFinder {
  const statements = { indexed: FIND, paged: FIND_IN_PAGES };
  const scan = createQueueScan<SendRef & { step: RecoveryStep }>(
    db,
    { table: "sends", ...statements },
    scanLimits,
  );
  return async ({ deadAfter, maxLeaseMs }) => {
    const found = new Map<RecoveryStep, SendRef[]>();
    for (const { step, ...ref } of await scan.read([deadAfter, maxLeaseMs])) {
      const refs = found.get(step);
      if (refs) refs.push(ref);
      else found.set(step, [ref]);
    }
    for (const refs of found.values()) refs.sort((one, other) => (one.id < other.id ? -1 : 1));
    return found;
  };
}

/** Client ids and ids, for lockFound. */
export const columnsOf = (refs: readonly SendRef[]): [clientIds: string[], ids: string[]] => [
  refs.map(({ client_id }) => client_id),
  refs.map(({ id }) => id),
];

/**
 * SQL: the rows `s` of sends with these keys, locked, for which a condition holds; others that are locked are left out. `is true`:
 * with statistics of an empty table the planner might otherwise prefer the index of a state to that of the keys.
 * A write to `row` leaves out a send that changed between the snapshot of the statement and its lock. So what the statement reports
 * comes from the rows that it wrote, and the next run finds the send again.
 */
export const lockFound = (
  { clientIds, ids, condition }: { clientIds: string; ids: string; condition: string },
  columns: string,
): string => `unnest(${clientIds}::uuid[], ${ids}::text[]) as found (client_id, id)
    cross join lateral (
      select s.ctid as row, ${columns}
      from sends s
      where s.client_id = found.client_id
      and s.id = found.id
      and (${condition}) is true
      limit 1
      for update of s skip locked
    ) s`;
