import { type Database, sql } from "../database/database.ts";
import { EVENT_STATUS } from "./events.ts";

/**
 * SQL: columns that group deliveries `d` by key. Rows that are older than the column `key`, and those of
 * events without a key, form groups of their own: the event of such a group `g` is looked up.
 */
export const KEY_GROUPS = "d.key, case when d.key is null then d.id end as unkeyed_id";
export const KEY_OF_GROUP = "coalesce(g.key, e.key)";
export const lookUpKey = (clientId: string): string => `left join lateral (
      select e.key
      from events e
      where g.unkeyed_id is not null
      and e.client_id = ${clientId}
      and e.id = g.unkeyed_id
      limit 1
    ) e on true`;

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
  select ${KEY_OF_GROUP} as key, sum(g.waiting)::integer as waiting, min(g.oldest_id) as oldest_id
  from (
    select ${KEY_GROUPS}, count(*) as waiting, min(d.id) as oldest_id
    from deliveries d
    where d.client_id = $1
    and (${EVENT_STATUS}) = 'pending'
    group by 1, 2
  ) g
  ${lookUpKey("$1")}
  group by 1`);

/** Counts a client's waiting deliveries by key. */
export const countWaitingDeliveries = (db: Database, clientId: string): Promise<WaitingDeliveries[]> =>
  db.transaction(async (tx) => {
    await tx.query(DISABLE_JIT);
    return tx.query<WaitingDeliveries>(COUNT_WAITING, [clientId]);
  });
