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
  with cancelled as (
    delete from sends s
    where ${condition}
    returning s.client_id, s.id, s.started_at, s.attempts
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

/**
 * SQL: the cancellable sends of the batch $2 in these states, locked in the order of dispatchers. A send that changes while its lock
 * is awaited has another `ctid` then; the supervision of batches cancels it.
 */
const inBatch = (states: string) => `s.ctid = any(array(
      select b.ctid
      from sends b
      where b.client_id = $1
      and b.batch_id = $2
      and b.batch_id <> ''
      and ${states}
      and ${isCancellable("b")}
      order by b.id || '' -- of the id alone, Postgres may read all messages of the client in the order of their key
      for update
    ))`;

const CANCEL_ONE = cancelStatement(`s.client_id = $1
    and s.id = $2
    and ${isCancellable("s")}`);
const CANCEL_UNCLAIMED = cancelStatement(inBatch("b.state <> 'claimed'"));
const CANCEL_BATCH = cancelStatement(inBatch("true"));

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
