import { type Queryable, sql } from "../database/database.ts";

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
      when d.state in ('pending', 'in_flight', 'retrying') then 'pending'
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
  left join webhook_configs w on w.id = e.client_id
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

const REPLACE_PAYLOAD = sql(`
  update events
  set payload = $3
  where client_id = $1
  and id = $2`);

/** Stores a body that was completed with fetched data, so that every attempt sends the same one. */
export async function replacePayload(
  db: Queryable,
  clientId: string,
  { id, payload }: { id: string; payload: string },
): Promise<void> {
  await db.query(REPLACE_PAYLOAD, [clientId, id, payload]);
}

/** Oldest first. */
export const listAttempts = (db: Queryable, clientId: string, eventId: string): Promise<AttemptRow[]> =>
  db.query<AttemptRow>(LIST_ATTEMPTS, [clientId, eventId]);
