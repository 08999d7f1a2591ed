import { type Queryable, sql } from "../database/database.ts";
import { IS_WAITING, partitionBy } from "./delivery-refs.ts";

interface QueueMetrics {
  /** Due time of the oldest row that is due and not claimed; null when there is none. */
  oldest_due_at: Date | null;
  in_flight: number;
}

const IS_IN_STREAM = `is_bulk = $1 and (${partitionBy("$2")}) = $3`;

/**
 * Among queued deliveries the one queued longest is taken as the oldest: no index orders them by due time.
 */
const MEASURE_DELIVERIES = sql(`
  with not_queued as (
    select next_attempt_at
    from deliveries
    where enqueued_at is null
    and ${IS_WAITING}
    and next_attempt_at <= now()
    and ${IS_IN_STREAM}
    order by next_attempt_at
    limit 1
  ),
  queued as (
    select next_attempt_at
    from deliveries
    where enqueued_at is not null
    and ${IS_WAITING}
    and ${IS_IN_STREAM}
    order by queue_epoch, enqueued_at
    limit 1
  )
  select
    least((select next_attempt_at from not_queued), (select next_attempt_at from queued)) as oldest_due_at,
    (
      select count(*)::integer
      from deliveries
      where state = 'in_flight'
      and ${IS_IN_STREAM}
    ) as in_flight`);

const MEASURE_SENDS = sql(`
  select
    (
      select min(next_attempt_at)
      from sends
      where state = 'waiting'
      and next_attempt_at <= now()
      and (${partitionBy("$1")}) = $2
    ) as oldest_due_at,
    (
      select count(*)::integer
      from sends
      where state = 'in_hand'
      and (${partitionBy("$1")}) = $2
    ) as in_flight`);

interface StreamPartition {
  partitions: number;
  partition: number;
}

/** Spans all clients: metrics of one stream of sends. */
export async function measureSends(
  db: Queryable,
  { partitions, partition }: StreamPartition,
): Promise<QueueMetrics> {
  const [row] = await db.query<QueueMetrics>(MEASURE_SENDS, [partitions, partition]);
  return row as QueueMetrics;
}

/** Spans all clients: metrics of one stream of deliveries. */
export async function measureDeliveries(
  db: Queryable,
  { isBulk, partitions, partition }: StreamPartition & { isBulk: boolean },
): Promise<QueueMetrics> {
  const [row] = await db.query<QueueMetrics>(MEASURE_DELIVERIES, [isBulk, partitions, partition]);
  return row as QueueMetrics;
}
