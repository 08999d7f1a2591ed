import { type Queryable, sql } from "../database/database.ts";

/** Rows of one client that are in the same situation. */
export interface QueueGroup {
  client_id: string;
  /**
   * in_flight: claimed. unknown: sent, and the outcome is awaited. Otherwise why the rows wait. due: for a dispatcher.
   * rate: for their channel's share. retry: for the next attempt. order: for an earlier message to the same
   * person. reconnect: for their channel.
   */
  situation: "in_flight" | "unknown" | "due" | "rate" | "retry" | "order" | "reconnect";
  count: number;
  /** The earliest due time of the rows. */
  next_attempt_at: Date | null;
  /** The id of the row that was accepted first. */
  oldest_id: string;
}

export interface DeliveryGroup extends QueueGroup {
  is_bulk: boolean;
}

/** Rows that failed since a point in time. */
export interface FailureGroup {
  client_id: string;
  is_bulk: boolean;
  count: number;
}

const GROUP_DELIVERIES = sql(`
  select
    client_id,
    is_bulk,
    case
      when worker_id is not null then 'in_flight'
      when due_at <= now() then 'due'
      else 'retry'
    end as situation,
    count(*)::integer as count,
    min(due_at) as next_attempt_at,
    min(id) as oldest_id
  from delivery_queue
  group by 1, 2, 3`);

const COUNT_FAILED = sql(`
  select client_id, is_bulk, count(*)::integer as count
  from deliveries
  where state = 'failed'
  and failed_at > now() - $1 * interval '1 millisecond'
  group by client_id, is_bulk`);

/** Spans all clients: counts the deliveries that are not finished. */
export const groupDeliveries = (db: Queryable): Promise<DeliveryGroup[]> =>
  db.query<DeliveryGroup>(GROUP_DELIVERIES);

/** Spans all clients: counts the deliveries that failed within this time. */
export const countFailedDeliveries = (db: Queryable, withinMs: number): Promise<FailureGroup[]> =>
  db.query<FailureGroup>(COUNT_FAILED, [withinMs]);
