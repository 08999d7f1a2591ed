import { type Database, type Queryable, sql } from "../database/database.ts";

/** An event, the state of its delivery, and the configuration that decides whether it is delivered. */
export interface EventRow {
  id: string;
  type: string;
  key: string | null;
  channel_id: string | null;
  ad_account_id: string | null;
  occurred_at: Date;
  /** The status shown to clients. */
  status: string;
  skip_reason: string | null;
  attempts: number;
  last_status_code: number | null;
  last_error: string | null;
  next_attempt_at: Date | null;
  /** URL of the last attempt. */
  url: string | null;
  delivered_at: Date | null;
  webhook_url: string | null;
  /** True while the event cannot be delivered: its key is disabled, or there is no webhook_url. */
  is_held: boolean;
}

export interface AttemptRow {
  attempt: number;
  at: Date;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  response_excerpt: string | null;
}

/**
 * SQL: the status shown to clients, of a delivery `d`. Must equal the expression of the index on deliveries,
 * or the index is not used.
 */
export const EVENT_STATUS = `
    case
      when d.state in ('pending', 'retrying') then 'pending'
      when d.state in ('skipped', 'cancelled') then 'skipped'
      else d.state
    end`;

/** Columns of an event `e`, its delivery `d` and its client's configuration `w`, which may be missing. */
export const EVENT_COLUMNS = `
    e.id, e.type, e.key, e.channel_id, e.ad_account_id, e.occurred_at, ${EVENT_STATUS} as status,
    d.skip_reason, d.attempts, d.last_status_code, d.last_error, d.next_attempt_at, d.url, d.delivered_at,
    w.webhook_url, w.webhook_url is null or coalesce(e.key = any(w.disabled_keys), false) as is_held`;

const FIND = sql(`
  select ${EVENT_COLUMNS}, e.payload
  from events e
  join deliveries d on d.client_id = e.client_id and d.id = e.id
  left join webhook_configs w on w.client_id = e.client_id
  where e.client_id = $1
  and e.id = $2`);

const LIST_ATTEMPTS = sql(`
  select attempt, at, status_code, duration_ms, error, response_excerpt
  from attempts
  where client_id = $1
  and id = $2
  order by attempt`);

/** Returns the event and its request body. */
export async function findEvent(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<(EventRow & { payload: string }) | undefined> {
  const [row] = await db.query<EventRow & { payload: string }>(FIND, [clientId, id]);
  return row;
}

/** Oldest first. */
export const listAttempts = (db: Queryable, clientId: string, eventId: string): Promise<AttemptRow[]> =>
  db.query<AttemptRow>(LIST_ATTEMPTS, [clientId, eventId]);

/** Identifies a delivery by its client and its event. */
export interface DeliveryRef {
  clientId: string;
  id: string;
}

/** Statements that write several rows use this order, so that two of them cannot deadlock. */
export const sortById = <T extends { id: string }>(rows: readonly T[]): T[] =>
  [...rows].sort((one, other) => (one.id < other.id ? -1 : 1));

/**
 * SQL: true for every event id. It makes the planner expect one or two rows and look each up by key.
 * Expecting many, it would scan all partitions, unaware that each lookup touches only one.
 */
export const smallSetHint = (id: string): string => `${id} like 'evt%'`;

/**
 * SQL: true when a CTE has a row with this id. `is true` keeps Postgres from joining them: it expects one row in each, and would
 * compare each of hundreds with all others.
 */
export const isAmong = (id: string, cte: string): string => `(${id} in (select id from ${cte})) is true`;

/** SQL: compiling a plan for all partitions takes longer than running it. Applies to the transaction. */
export const WITHOUT_JIT = "set_config('jit', 'off', true)";

const DISABLE_JIT = sql(`select ${WITHOUT_JIT}`);

/** The waiting deliveries of one key; null for events without a key. */
export interface WaitingDeliveries {
  key: string | null;
  waiting: number;
  /** Id of the event that was accepted first. */
  oldest_id: string;
}

/** Reads the index on the status. */
const COUNT_WAITING = sql(`
  select d.key, count(*)::integer as waiting, min(d.id) as oldest_id
  from deliveries d
  where d.client_id = $1
  and (${EVENT_STATUS}) = 'pending'
  group by d.key`);

/** Counts a client's waiting deliveries by key. */
export const countWaitingDeliveries = (db: Database, clientId: string): Promise<WaitingDeliveries[]> =>
  db.transaction(async (tx) => {
    await tx.query(DISABLE_JIT);
    return tx.query<WaitingDeliveries>(COUNT_WAITING, [clientId]);
  });
