import { COMMIT_IN_MEMORY, type Database, type Queryable, sql } from "../database/database.ts";
import { createQueueScan, type ScanLimits, selectPages } from "../database/queue-scan.ts";
import { IS_NOT_HELD } from "../processes/queue-hold.ts";
import { IS_NOT_SUSPECT, IS_SUSPECT } from "../processes/workers.ts";
import { isClientAlive } from "../tenants/clients.ts";

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

const POLL_PAGES = sql(`
  with page_rows as materialized (${selectPages("delivery_queue", "is_bulk, client_id, worker_id, due_at", 4)}
  )
  select is_bulk as "isBulk", client_id as "clientId", min(due_at) as after
  from page_rows
  where worker_id is null
  and (is_bulk, client_id) > ($1::boolean, $2::uuid)
  and due_at <= now()
  group by is_bulk, client_id
  order by is_bulk, client_id
  limit $3`);

/** Sorts before the key of every client. */
const BEFORE_FIRST: DeliveryKey = { isBulk: false, clientId: "00000000-0000-0000-0000-000000000000" };

/** Lists up to `limit` keys with rows that are due, from the key after `last` on. */
export type DeliveryPoll = (last: DeliveryKey | undefined, limit: number) => Promise<DueKey[]>;

export function createDeliveryPoll(db: Database, limits?: ScanLimits): DeliveryPoll {
  const scan = createQueueScan<DueKey>(
    db,
    { table: "delivery_queue", indexed: POLL, paged: POLL_PAGES },
    limits,
  );
  return ({ isBulk, clientId } = BEFORE_FIRST, limit) => scan.read([isBulk, clientId, limit]);
}

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

/**
 * SQL: the CTE `claimed` gives the rows of `due` to the worker $2 with the lease $1; then reads them. `ctid` and `limit 1`: with
 * statistics from a moment at which a table was empty, Postgres would join by reading all rows of the table.
 */
const CLAIM_DUE = `claimed as (
    update delivery_queue q
    set worker_id = $2, lease = $1, claimed_at = now()
    where q.ctid = any(array(select row from due))
    returning q.client_id, q.id, q.is_bulk, q.due_at, q.attempts, q.schedule_base
  )
  select
    c.client_id, c.id, c.is_bulk, c.due_at, c.attempts, c.schedule_base, e.type, e.key, e.message_id,
    e.payload, w.webhook_url, coalesce(e.key = any(w.disabled_keys), false) as is_off,
    w.secret_sealed, w.former_secret_sealed, w.former_secret_until, coalesce(w.token_header, true) as token_header
  from claimed c
  cross join lateral (
    select type, key, message_id, payload
    from events
    where client_id = c.client_id
    and id = c.id
    limit 1
  ) e
  left join lateral (
    select *
    from webhook_configs
    where client_id = c.client_id
    limit 1
  ) w on true`;

/**
 * `(select $n)`: otherwise Postgres may plan the statement anew each time. When a crash of Postgres loses the claim, the
 * outcome is still accepted, unless another worker has claimed the row meanwhile.
 */
const CLAIM = sql(`
  with due as materialized (
    select q.row
    from unnest((select $3::boolean[]), (select $4::uuid[]), (select $5::integer[]), (select $6::timestamptz[]))
      as wanted (is_bulk, client_id, max, after)
    cross join lateral (
      select ctid as row
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
    select ctid as row
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
