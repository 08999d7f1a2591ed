import { type Queryable, sql } from "../database/database.ts";
import {
  isCancellable,
  SETTLED_COLUMNS,
  type SettledSend,
  sendingStep,
  UNSETTLED_STATUSES,
} from "./lifecycle.ts";

/**
 * A dispatcher that marks a send and this statement lock its row: the second one finds it marked, or no longer finds it.
 * So a message is either sent or cancelled.
 */
const cancelStatement = (condition: string) =>
  sql(`
  with cancelled as materialized (
    select s.client_id, s.id, s.started_at, s.attempts
    from sends s
    where s.client_id = $1
    and ${condition}
    and ${isCancellable("s")}
    order by s.id
    for update of s
  ),
  deleted as (
    delete from sends s
    using cancelled c
    where s.client_id = c.client_id
    and s.id = c.id
  )
  update messages m
  set
    status = 'cancelled',
    timeline = ${sendingStep("c.started_at")} || m.timeline || jsonb_build_array(jsonb_build_object('status', 'cancelled', 'at', now())),
    attempts = c.attempts
  from cancelled c
  where m.client_id = c.client_id
  and m.id = c.id
  and c.id like 'msg%' -- as a hint that few rows match
  and m.status in ${UNSETTLED_STATUSES}
  returning ${SETTLED_COLUMNS}`);

const IS_IN_BATCH = "s.batch_id = $2 and s.batch_id <> ''";

const CANCEL_ONE = cancelStatement("s.id = $2");
const CANCEL_UNCLAIMED = cancelStatement(`${IS_IN_BATCH} and s.state <> 'claimed'`);
const CANCEL_BATCH = cancelStatement(IS_IN_BATCH);

/** Undefined when the client has no such message, or it can no longer be cancelled. */
export async function cancelSend(
  tx: Queryable,
  clientId: string,
  messageId: string,
): Promise<SettledSend | undefined> {
  const [row] = await tx.query<SettledSend>(CANCEL_ONE, [clientId, messageId]);
  return row;
}

/** Cancels the messages of a batch. Claimed ones come last: until the commit, marks that include one of them wait for its lock. */
export async function cancelBatchSends(tx: Queryable, clientId: string, batchId: string): Promise<void> {
  for (const statement of [CANCEL_UNCLAIMED, CANCEL_BATCH]) await tx.query(statement, [clientId, batchId]);
}
