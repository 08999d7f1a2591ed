import { type Queryable, sql } from "../database/database.ts";
import { EVENT_STATUS } from "./events.ts";

/** The waiting deliveries of one key; null for events without a key. */
export interface WaitingDeliveries {
  key: string | null;
  waiting: number;
  /** Id of the event that was accepted first. */
  oldest_id: string;
}

/** SQL: the key of a delivery `d`. Those that are older than their column `key` have it in the event only. */
export const KEY_OF_DELIVERY = `coalesce(d.key, (
      select e.key
      from events e
      where e.client_id = d.client_id
      and e.id = d.id
    ))`;

const COUNT_WAITING = sql(`
  select
    ${KEY_OF_DELIVERY} as key,
    count(*)::integer as waiting,
    min(d.id) as oldest_id
  from deliveries d
  where d.client_id = $1
  and (${EVENT_STATUS}) = 'pending'
  group by 1`);

export const countWaitingDeliveries = (db: Queryable, clientId: string): Promise<WaitingDeliveries[]> =>
  db.query<WaitingDeliveries>(COUNT_WAITING, [clientId]);
