import { COMMIT_IN_MEMORY } from "../database/commit-in-memory.ts";
import { type Queryable, sql } from "../database/database.ts";
import { IS_NOT_SUSPECT, IS_SUSPECT } from "../processes/deaths.ts";
import { IS_NOT_HELD } from "../processes/queue-hold.ts";
import { isClientAlive } from "../tenants/clients.ts";
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
  /** The outbound message that the event is about. */
  message_id: string | null;
  payload: string;
  webhook_url: string | null;
  is_off: boolean;
  secret_sealed: string | null;
  former_secret_sealed: string | null;
  former_secret_until: Date | null;
  token_header: boolean;
}

/** SQL: writes the lease $1 of the worker $2. */
const SET_CLAIMED = "state = 'in_flight', worker_id = $2, lease = $1, claimed_at = now()";

/** SQL: reads the rows of `claimed` with their events and webhook configurations. */
const SELECT_CLAIMED = `
  select
    c.client_id, c.id, c.attempts, c.schedule_base, e.type, e.key, e.channel_id, e.message_id, e.payload,
    w.webhook_url, coalesce(e.key = any(w.disabled_keys), false) as is_off,
    w.secret_sealed, w.former_secret_sealed, w.former_secret_until, coalesce(w.token_header, true) as token_header
  from claimed c
  join events e on e.client_id = c.client_id and e.id = c.id
  left join webhook_configs w on w.id = c.client_id`;

/**
 * Idempotent: the same lease token returns the same rows again, so a lost response does no harm. When a crash of Postgres
 * loses the claim, the outcome is still accepted, unless another worker has claimed the delivery meanwhile.
 */
const CLAIM = sql(`
  with claimed as (
    update deliveries d
    set ${SET_CLAIMED}
    from unnest((select $3::uuid[]), (select $4::text[])) as wanted (client_id, id)
    where ${smallSetHint("wanted.id")}
    and ${COMMIT_IN_MEMORY}
    and ${IS_NOT_HELD}
    and ${isClientAlive("wanted.client_id")}
    and d.client_id = wanted.client_id
    and d.id = wanted.id
    and (d.${IS_WAITING} and d.${IS_NOT_SUSPECT} and d.next_attempt_at <= now() or d.lease = $1)
    returning d.client_id, d.id, d.attempts, d.schedule_base
  )
  ${SELECT_CLAIMED}`);

/** Idempotent like CLAIM: without `held`, a second suspect would be claimed after a lost response. */
const CLAIM_SUSPECT = sql(`
  with held as materialized (
    select client_id, id
    from deliveries
    where state = 'in_flight'
    and worker_id = $2
    and lease = $1
  ),
  due as materialized (
    select client_id, id
    from deliveries
    where ${IS_WAITING}
    and ${IS_SUSPECT}
    and next_attempt_at <= now()
    and not exists (select from held)
    and ${IS_NOT_HELD}
    order by next_attempt_at
    limit 1
    for update skip locked
  ),
  claimed as (
    update deliveries d
    set ${SET_CLAIMED}
    from (select client_id, id from held union all select client_id, id from due) as wanted
    where ${smallSetHint("wanted.id")}
    and d.client_id = wanted.client_id
    and d.id = wanted.id
    and (d.${IS_WAITING} or d.lease = $1)
    returning d.client_id, d.id, d.attempts, d.schedule_base
  )
  ${SELECT_CLAIMED}`);

/**
 * Spans all clients: claims deliveries that are due; none while the queue is held. Skips suspects, those that
 * are claimed by another worker or done, and those of deleted clients.
 */
export function claimDeliveries(
  db: Queryable,
  refs: readonly DeliveryRef[],
  { token, worker }: Lease,
): Promise<ClaimedDelivery[]> {
  return db.query<ClaimedDelivery>(CLAIM, [token, worker, ...columnsOf(refs)]);
}

/** Spans all clients: claims the suspect that has been due longest; undefined when none is due or the queue is held. */
export async function claimSuspect(
  db: Queryable,
  { token, worker }: Lease,
): Promise<ClaimedDelivery | undefined> {
  const [row] = await db.query<ClaimedDelivery>(CLAIM_SUSPECT, [token, worker]);
  return row;
}
