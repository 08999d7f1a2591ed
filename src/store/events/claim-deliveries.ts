import { type Queryable, sql } from "../database/database.ts";
import { columnsOf, type DeliveryRef, IS_WAITING, smallSetHint } from "./delivery-refs.ts";

export interface Lease {
  token: string;
  worker: string;
}

/** A claimed delivery, its event, and the client's current webhook configuration. */
export interface ClaimedDelivery {
  client_id: string;
  id: string;
  attempts: number;
  schedule_base: number;
  type: string;
  key: string | null;
  channel_id: string | null;
  payload: string;
  webhook_url: string | null;
  is_off: boolean;
  secret_sealed: string | null;
  former_secret_sealed: string | null;
  former_secret_until: Date | null;
}

/** Idempotent: the same lease token returns the same rows again, so a lost response does no harm. */
const CLAIM = sql(`
  with claimed as (
    update deliveries d
    set state = 'in_flight', worker_id = $4, lease = $3, claimed_at = now()
    from unnest((select $1::uuid[]), (select $2::text[])) as wanted (client_id, id)
    where ${smallSetHint("wanted.id")}
    and d.client_id = wanted.client_id
    and d.id = wanted.id
    and (d.${IS_WAITING} and d.next_attempt_at <= now() or d.lease = $3)
    returning d.client_id, d.id, d.attempts, d.schedule_base
  )
  select
    c.client_id, c.id, c.attempts, c.schedule_base, e.type, e.key, e.channel_id, e.payload, w.webhook_url,
    coalesce(e.key = any(w.disabled_keys), false) as is_off,
    w.secret_sealed, w.former_secret_sealed, w.former_secret_until
  from claimed c
  join events e on e.client_id = c.client_id and e.id = c.id
  left join webhook_configs w on w.id = c.client_id`);

/**
 * Spans all clients: claims deliveries that are due. Skips those that are claimed by another worker or done.
 */
export function claimDeliveries(
  db: Queryable,
  refs: readonly DeliveryRef[],
  { token, worker }: Lease,
): Promise<ClaimedDelivery[]> {
  return db.query<ClaimedDelivery>(CLAIM, [...columnsOf(refs), token, worker]);
}
