import { type Queryable, sql } from "../database/database.ts";
import { IS_NOT_QUARANTINED, IS_NOT_SUSPECT, IS_QUARANTINED } from "../processes/deaths.ts";
import { deathsAfterExpiry, isLeaseExpired, type LeaseLimits } from "../processes/workers.ts";
import { columnsOf, type DeliveryRef, IS_WAITING, partitionBy, smallSetHint } from "./delivery-refs.ts";

/** Everything here spans all clients: it moves the queue and is not shown to any client. */

/**
 * A lost attempt may have arrived or not, so the delivery is due again immediately, with the same number of
 * attempts. It counts the death of its dispatcher, if that has died, and fails at MAX_DEATHS of them.
 */
const RECOVER = sql(`
  with lost as materialized (
    select d.client_id, d.id, d.attempts, ${deathsAfterExpiry("d")} as deaths
    from deliveries d
    where d.state = 'in_flight'
    and ${isLeaseExpired("d")}
    for update of d skip locked
  )
  update deliveries d
  set
    state = case when l.${IS_QUARANTINED} then 'failed' when l.attempts = 0 then 'pending' else 'retrying' end,
    deaths = l.deaths,
    last_status_code = null,
    last_error = case when l.${IS_QUARANTINED} then 'quarantined' else 'interrupted' end,
    next_attempt_at = case when l.${IS_NOT_QUARANTINED} then now() end,
    failed_at = case when l.${IS_QUARANTINED} then now() end,
    enqueued_at = null,
    worker_id = null,
    lease = null,
    claimed_at = null
  from lost l
  where ${smallSetHint("l.id")}
  and d.client_id = l.client_id
  and d.id = l.id
  returning d.client_id as "clientId", d.id, d.deaths, d.${IS_QUARANTINED} as "isQuarantined"`);

/** A delivery that failed because its dispatchers died. */
export interface QuarantinedDelivery extends DeliveryRef {
  deaths: number;
}

interface RecoveredDeliveries {
  /** How many are due again. */
  released: number;
  quarantined: QuarantinedDelivery[];
}

/** Makes deliveries with expired leases due again, or fails them. */
export async function recoverDeliveries(
  tx: Queryable,
  { deadAfter, maxLeaseMs }: LeaseLimits,
): Promise<RecoveredDeliveries> {
  type Row = QuarantinedDelivery & { isQuarantined: boolean };
  const rows = await tx.query<Row>(RECOVER, [deadAfter, maxLeaseMs]);
  const quarantined = rows
    .filter(({ isQuarantined }) => isQuarantined)
    .map(({ clientId, id, deaths }) => ({ clientId, id, deaths }));
  return { released: rows.length - quarantined.length, quarantined };
}

/** Suspects are in no stream: each dispatcher claims them one at a time. */
const IS_DUE = `${IS_WAITING} and ${IS_NOT_SUSPECT} and is_bulk = $1 and next_attempt_at <= now()`;
/**
 * Lists the full partitions: from a list of the others the planner would expect few rows and sort all that
 * are due.
 */
const HAS_PARTITION_CAPACITY = `(${partitionBy("$5")}) <> all($6::integer[])`;

const selectDue = (condition: string, order: string) => `
    select client_id, id
    from deliveries
    where ${IS_DUE}
    and ${condition}
    and ${HAS_PARTITION_CAPACITY}
    and client_id <> all($7::uuid[])
    order by ${order}
    limit $4
    for update skip locked`;

/**
 * Marks deliveries never enqueued, enqueued in another Redis epoch, or enqueued long ago and not claimed.
 * Each group has its own index and they take turns, so that none starves; arrays make the planner expect few.
 */
const ENQUEUE = sql(`
  with never as materialized (${selectDue("enqueued_at is null", "next_attempt_at")}
  ),
  before_epoch as materialized (${selectDue("enqueued_at is not null and queue_epoch < $2", "queue_epoch, enqueued_at")}
  ),
  after_epoch as materialized (${selectDue("enqueued_at is not null and queue_epoch > $2", "queue_epoch, enqueued_at")}
  ),
  stranded as materialized (${selectDue(
    "enqueued_at is not null and queue_epoch = $2 and enqueued_at < now() - $3 * interval '1 millisecond'",
    "enqueued_at",
  )}
  ),
  chosen as materialized (
    select client_id, id
    from (
      select client_id, id, row_number() over () as place from never
      union all
      select client_id, id, row_number() over () from before_epoch
      union all
      select client_id, id, row_number() over () from after_epoch
      union all
      select client_id, id, row_number() over () from stranded
    ) found
    order by place
    limit $4
  )
  update deliveries d
  set enqueued_at = now(), queue_epoch = $2
  from unnest(array(select client_id from chosen), array(select id from chosen)) as c (client_id, id)
  where ${smallSetHint("c.id")}
  and d.client_id = c.client_id
  and d.id = c.id
  returning d.client_id as "clientId", d.id`);

interface EnqueueInput {
  isBulk: boolean;
  /** The current Redis epoch. */
  epoch: string;
  /** Milliseconds after which an enqueued delivery that was not claimed is enqueued again. */
  strandedAfter: number;
  limit: number;
  /** The number of partitions, and those that accept no more entries. */
  partitions: number;
  fullPartitions: readonly number[];
  /** Clients with enough deliveries waiting in Redis. */
  saturatedClients: readonly string[];
}

/** Marks due deliveries as enqueued, oldest first, and returns them. */
export function enqueueDue(tx: Queryable, input: EnqueueInput): Promise<DeliveryRef[]> {
  const { isBulk, epoch, strandedAfter, limit, partitions, fullPartitions, saturatedClients } = input;
  const values = [isBulk, epoch, strandedAfter, limit, partitions, fullPartitions, saturatedClients];
  return tx.query<DeliveryRef>(ENQUEUE, values);
}

const UNMARK_QUEUED = sql(`
  update deliveries d
  set
    enqueued_at = null,
    next_attempt_at = case when $3 = 0 then d.next_attempt_at else now() + $3 * interval '1 millisecond' end
  from unnest((select $1::uuid[]), (select $2::text[])) as u (client_id, id)
  where ${smallSetHint("u.id")}
  and d.client_id = u.client_id
  and d.id = u.id
  and d.${IS_WAITING}
  and d.next_attempt_at <= now()`);

/** Marks due deliveries as not enqueued; with `delayMs` they are due only after that many milliseconds. */
export async function unmarkQueued(db: Queryable, refs: readonly DeliveryRef[], delayMs = 0): Promise<void> {
  await db.query(UNMARK_QUEUED, [...columnsOf(refs), delayMs]);
}
