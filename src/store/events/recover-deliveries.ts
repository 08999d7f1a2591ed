import { type Database, type Queryable, sql } from "../database/database.ts";
import { createQueueScan, type ScanLimits, selectPages } from "../database/queue-scan.ts";
import {
  deathsAfterExpiry,
  IS_NOT_QUARANTINED,
  IS_QUARANTINED,
  isLeaseExpired,
  type LeaseLimits,
} from "../processes/workers.ts";
import { type DeliveryRef, isAmong, smallSetHint } from "./events.ts";

/** Everything here spans all clients: it recovers deliveries that a dead dispatcher had claimed. */

const MAX_RECOVERED_ROWS = 1_000;

const isLost = (row: string) => `${row}.worker_id is not null and ${isLeaseExpired(row)}`;

const FIND_LOST = sql(`
  select q.id
  from delivery_queue q
  where ${isLost("q")}
  limit ${MAX_RECOVERED_ROWS}`);

const FIND_LOST_IN_PAGES = sql(`
  with page_rows as materialized (${selectPages("delivery_queue", "id, worker_id, claimed_at", 3)}
  )
  select q.id
  from page_rows q
  where ${isLost("q")}
  limit ${MAX_RECOVERED_ROWS}`);

/**
 * Makes the rows with these ids due again, if their leases have expired. A lost attempt may have arrived or not, so the number of
 * attempts stays. A row counts the death of its dispatcher, if that has died, and the delivery fails at MAX_DEATHS of them.
 * A row that changes while it is being locked has another `ctid` then: the next run recovers it.
 */
const RECOVER = sql(`
  with lost as materialized (
    select q.row, q.id, q.client_id, q.deaths
    from unnest($3::text[]) as found (id)
    cross join lateral (
      select d.ctid as row, d.id, d.client_id, ${deathsAfterExpiry("d")} as deaths
      from delivery_queue d
      where d.id = found.id
      and ${isLost("d")}
      limit 1
      for update of d skip locked
    ) q
  ),
  released as (
    update delivery_queue q
    set deaths = l.deaths, worker_id = null, lease = null, claimed_at = null
    from lost l
    where l.${IS_NOT_QUARANTINED}
    and q.ctid = l.row
    returning q.id
  ),
  quarantined as (
    delete from delivery_queue q
    where q.ctid = any(array(select row from lost where ${IS_QUARANTINED}))
    returning q.id
  ),
  written as materialized (
    select id from released
    union all
    select id from quarantined
  )
  update deliveries d
  set
    state = case when l.${IS_QUARANTINED} then 'failed' else d.state end,
    last_status_code = null,
    last_error = case when l.${IS_QUARANTINED} then 'quarantined' else 'interrupted' end,
    next_attempt_at = case when l.${IS_NOT_QUARANTINED} then now() end,
    failed_at = case when l.${IS_QUARANTINED} then now() end
  from lost l
  where ${isAmong("l.id", "written")}
  and ${smallSetHint("l.id")}
  and d.client_id = l.client_id
  and d.id = l.id
  returning d.client_id as "clientId", d.id, l.deaths, l.${IS_QUARANTINED} as "isQuarantined"`);

const valuesOf = ({ deadAfter, maxLeaseMs }: LeaseLimits) => [deadAfter, maxLeaseMs];

/** Returns the ids of some deliveries whose leases have expired, in order. */
export type LostDeliveryFinder = (limits: LeaseLimits) => Promise<string[]>;

export function createLostDeliveryFinder(db: Database, scanLimits?: ScanLimits): LostDeliveryFinder {
  const statements = { indexed: FIND_LOST, paged: FIND_LOST_IN_PAGES };
  const scan = createQueueScan<{ id: string }>(db, { table: "delivery_queue", ...statements }, scanLimits);
  return async (limits) => {
    const rows = await scan.read(valuesOf(limits));
    return rows.map(({ id }) => id).sort();
  };
}

/** A delivery that failed because its dispatchers died. */
export interface QuarantinedDelivery extends DeliveryRef {
  deaths: number;
}

interface RecoveredDeliveries {
  /** How many are due again. */
  released: number;
  quarantined: QuarantinedDelivery[];
}

/** Makes those of these deliveries wait again, or fails them, whose leases have expired. */
export async function recoverDeliveries(
  tx: Queryable,
  ids: readonly string[],
  limits: LeaseLimits,
): Promise<RecoveredDeliveries> {
  type Row = QuarantinedDelivery & { isQuarantined: boolean };
  const rows = await tx.query<Row>(RECOVER, [...valuesOf(limits), ids]);
  const quarantined = rows
    .filter(({ isQuarantined }) => isQuarantined)
    .map(({ clientId, id, deaths }) => ({ clientId, id, deaths }));
  return { released: rows.length - quarantined.length, quarantined };
}
