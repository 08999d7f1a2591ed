import { COMMIT_IN_MEMORY, type Queryable, sql } from "../database/database.ts";
import { IS_NOT_HELD } from "../processes/queue-hold.ts";
import {
  deathsAfterExpiry,
  IS_NOT_SUSPECT,
  IS_QUARANTINED,
  IS_SUSPECT,
  isLeaseExpired,
  type LeaseLimits,
} from "../processes/workers.ts";
import { isClientAlive } from "../tenants/clients.ts";
import { type DeliveryRef, smallSetHint } from "./events.ts";

/** Everything here spans all clients: dispatchers claim the rows of delivery_queue. */

/** Deliveries that must not delay others: those of one client, fresh ones or replays in bulk. */
export interface DeliveryKey {
  isBulk: boolean;
  clientId: string;
}

/** A key with a row that is due, and the time from which on it has such rows. */
export interface DueKey extends DeliveryKey {
  after: Date;
}

/**
 * Reads one row of each key with waiting rows, in the order of keys from the one after ($1, $2) on. Its cost is the number of
 * keys, not of rows.
 */
const POLL = sql(`
  with recursive keys as (
    (
      select is_bulk, client_id, due_at
      from delivery_queue
      where worker_id is null
      and (is_bulk, client_id) > ($1::boolean, $2::uuid)
      order by is_bulk, client_id, due_at
      limit 1
    )
    union all
    select n.is_bulk, n.client_id, n.due_at
    from keys k
    cross join lateral (
      select q.is_bulk, q.client_id, q.due_at
      from delivery_queue q
      where q.worker_id is null
      and (q.is_bulk, q.client_id) > (k.is_bulk, k.client_id)
      order by q.is_bulk, q.client_id, q.due_at
      limit 1
    ) n
  )
  select is_bulk as "isBulk", client_id as "clientId", due_at as after
  from keys
  where due_at <= now()
  limit $3`);

/** Sorts before the key of every client. */
const BEFORE_FIRST: DeliveryKey = { isBulk: false, clientId: "00000000-0000-0000-0000-000000000000" };

/** Lists up to `limit` keys with rows that are due, from the key after `last` on. */
export const pollDeliveries = (
  db: Queryable,
  { isBulk, clientId }: DeliveryKey = BEFORE_FIRST,
  limit: number,
): Promise<DueKey[]> => db.query<DueKey>(POLL, [isBulk, clientId, limit]);

export interface Lease {
  token: string;
  worker: string;
}

/** How many rows of a key to claim, the longest due first. */
export interface ClaimRequest extends DeliveryKey {
  max: number;
  /** Rows that were due before are left out; null for 30 seconds ago. */
  after: Date | null;
}

/** A claimed delivery, its event, and the client's current webhook configuration. */
export interface ClaimedDelivery {
  client_id: string;
  id: string;
  is_bulk: boolean;
  due_at: Date;
  attempts: number;
  schedule_base: number;
  type: string;
  key: string | null;
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

/** SQL: the CTE `claimed` gives the rows of `due` to the worker $2 with the lease $1; then reads them. */
const CLAIM_DUE = `claimed as (
    update delivery_queue q
    set worker_id = $2, lease = $1, claimed_at = now()
    from due
    where q.id = due.id
    returning q.client_id, q.id, q.is_bulk, q.due_at, q.attempts, q.schedule_base
  )
  select
    c.client_id, c.id, c.is_bulk, c.due_at, c.attempts, c.schedule_base, e.type, e.key, e.message_id,
    e.payload, w.webhook_url, coalesce(e.key = any(w.disabled_keys), false) as is_off,
    w.secret_sealed, w.former_secret_sealed, w.former_secret_until, coalesce(w.token_header, true) as token_header
  from claimed c
  join events e on e.client_id = c.client_id and e.id = c.id
  left join webhook_configs w on w.client_id = c.client_id`;

/**
 * `(select $n)`: otherwise Postgres may plan the statement anew each time. When a crash of Postgres loses the claim, the
 * outcome is still accepted, unless another worker has claimed the row meanwhile.
 */
const CLAIM = sql(`
  with due as materialized (
    select q.id
    from unnest((select $3::boolean[]), (select $4::uuid[]), (select $5::integer[]), (select $6::timestamptz[]))
      as wanted (is_bulk, client_id, max, after)
    cross join lateral (
      select id
      from delivery_queue
      where is_bulk = wanted.is_bulk
      and client_id = wanted.client_id
      and worker_id is null
      and ${IS_NOT_SUSPECT}
      and due_at between coalesce(wanted.after, now() - interval '30 seconds') and now()
      order by due_at
      limit wanted.max
      for update skip locked
    ) q
    where ${IS_NOT_HELD}
    and ${COMMIT_IN_MEMORY}
    and ${isClientAlive("wanted.client_id")}
  ),
  ${CLAIM_DUE}`);

const CLAIM_SUSPECT = sql(`
  with due as materialized (
    select id
    from delivery_queue
    where worker_id is null
    and ${IS_SUSPECT}
    and due_at <= now()
    and client_id <> all($3::uuid[])
    and ${IS_NOT_HELD}
    and ${isClientAlive("client_id")}
    order by due_at
    limit 1
    for update skip locked
  ),
  ${CLAIM_DUE}`);

/** Claims rows that are due; none while the queue is held. Skips suspects and deleted clients. */
export function claimDeliveries(
  db: Queryable,
  requests: readonly ClaimRequest[],
  { token, worker }: Lease,
): Promise<ClaimedDelivery[]> {
  const column = <Name extends keyof ClaimRequest>(name: Name) => requests.map((request) => request[name]);
  const values = [token, worker, column("isBulk"), column("clientId"), column("max"), column("after")];
  return db.query<ClaimedDelivery>(CLAIM, values);
}

/** Claims the suspect that has been due longest, except those of some clients; undefined when none is due or the queue is held. */
export async function claimSuspect(
  db: Queryable,
  { token, worker }: Lease,
  exceptClientIds: readonly string[],
): Promise<ClaimedDelivery | undefined> {
  const [row] = await db.query<ClaimedDelivery>(CLAIM_SUSPECT, [token, worker, exceptClientIds]);
  return row;
}

const RELEASE = sql(`
  update delivery_queue
  set worker_id = null, lease = null, claimed_at = null
  where worker_id = $2
  and lease = $1`);

/** Makes the rows of a claim wait again, because its answer was lost. */
export async function releaseClaim(db: Queryable, { token, worker }: Lease): Promise<void> {
  await db.query(RELEASE, [token, worker]);
}

/**
 * A lost attempt may have arrived or not, so the delivery waits again and is due at once, with the same number of attempts.
 * It counts the death of its dispatcher, if that has died, and fails at MAX_DEATHS of them.
 */
const RECOVER = sql(`
  with lost as materialized (
    select q.id, q.client_id, ${deathsAfterExpiry("q")} as deaths
    from delivery_queue q
    where q.worker_id is not null
    and ${isLeaseExpired("q")}
    limit 1000 -- also tells the planner to expect few
    for update of q skip locked
  ),
  released as (
    update delivery_queue q
    set deaths = l.deaths, worker_id = null, lease = null, claimed_at = null
    from lost l
    where q.id = l.id
    and not l.${IS_QUARANTINED}
  ),
  quarantined as (
    delete from delivery_queue q
    using lost l
    where q.id = l.id
    and l.${IS_QUARANTINED}
  )
  update deliveries d
  set
    state = case when l.${IS_QUARANTINED} then 'failed' else d.state end,
    last_status_code = null,
    last_error = case when l.${IS_QUARANTINED} then 'quarantined' else 'interrupted' end,
    next_attempt_at = case when not l.${IS_QUARANTINED} then now() end,
    failed_at = case when l.${IS_QUARANTINED} then now() end
  from lost l
  where ${smallSetHint("l.id")}
  and d.client_id = l.client_id
  and d.id = l.id
  returning d.client_id as "clientId", d.id, l.deaths, l.${IS_QUARANTINED} as "isQuarantined"`);

/** A delivery that failed because its dispatchers died. */
export interface QuarantinedDelivery extends DeliveryRef {
  deaths: number;
}

interface RecoveredDeliveries {
  /** How many are due again. */
  released: number;
  quarantined: QuarantinedDelivery[];
}

/** Spans all clients: makes deliveries with expired leases wait again, or fails them. */
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
