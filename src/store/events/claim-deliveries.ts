import { type Queryable, sql } from "../database/database.ts";
import { columnsOf, type DeliveryRef, IS_WAITING, smallSetHint } from "./delivery-refs.ts";

export interface Lease {
  token: string;
  worker: string;
}

/** A delivery in hand, its event, and where its client wants it now. */
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

/** Asked again with the same token it answers the same: whether the first answer was lost does not matter. */
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

/** Over all clients: takes those that are due and in nobody's hand. The others are somebody else's, or done. */
export function claimDeliveries(
  db: Queryable,
  refs: readonly DeliveryRef[],
  { token, worker }: Lease,
): Promise<ClaimedDelivery[]> {
  return db.query<ClaimedDelivery>(CLAIM, [...columnsOf(refs), token, worker]);
}
