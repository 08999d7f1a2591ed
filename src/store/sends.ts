import { type Queryable, sql } from "./database.ts";
import { columnsOf, type DeliveryRef } from "./delivery-refs.ts";

const UNQUEUE = sql(`
  update sends s
  set
    enqueued_at = null,
    next_attempt_at = case when $3 = 0 then s.next_attempt_at else now() + $3 * interval '1 millisecond' end
  from unnest($1::uuid[], $2::text[]) as u (client_id, id)
  where s.client_id = u.client_id
  and s.id = u.id
  and s.state = 'waiting'`);

/** Over all clients: says of these that they are in no queue; what is put off is due only after `delay` milliseconds. */
export async function unqueueSends(db: Queryable, refs: readonly DeliveryRef[], delay = 0): Promise<void> {
  await db.query(UNQUEUE, [...columnsOf(refs), delay]);
}
