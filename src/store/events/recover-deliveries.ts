import { type Queryable, sql } from "../database/database.ts";
import { IS_QUARANTINED } from "../processes/deaths.ts";
import { deathsAfterExpiry, isLeaseExpired, type LeaseLimits } from "../processes/workers.ts";
import { type DeliveryRef, smallSetHint } from "./delivery-refs.ts";

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
