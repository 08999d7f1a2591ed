import { firstIdAt } from "../../runtime/ids.ts";
import { type Queryable, sql } from "../database/database.ts";
import type { BatchRef } from "./change-batch.ts";

/** Everything here spans all clients. Times are in milliseconds since 1970. */

const LIST_ABANDONED = sql(`
  select client_id, id
  from batches
  where finished_at is null
  and status in ('scheduled', 'running', 'paused')
  and id < $1
  and (send_at is null or send_at < $2)
  limit $3`);

/** Lists up to `limit` unfinished batches that were accepted before this time, and were to start before it. */
export const listAbandonedBatches = (
  db: Queryable,
  { before, limit }: { before: number; limit: number },
): Promise<Pick<BatchRef, "client_id" | "id">[]> =>
  db.query(LIST_ABANDONED, [firstIdAt("bat", before), new Date(before), limit]);

/**
 * The bounds of its messages' ids let Postgres skip the other partitions. A scalar subquery, because `not exists` may become a
 * join that reads all messages.
 */
const DELETE_EMPTY = sql(`
  delete from batches
  where ctid = any(array(
    select b.ctid
    from batches b
    where b.finished_at is not null
    and b.last_message_id < $1
    and (
      select m.id
      from messages m
      where m.client_id = b.client_id
      and m.batch_id = b.id
      and m.id between b.first_message_id and b.last_message_id
      order by m.id
      limit 1
    ) is null
    limit $2
  ))
  returning 1 as one`);

/** Deletes up to `limit` finished batches accepted before this time whose messages were deleted; returns how many. */
export async function deleteEmptyBatches(
  db: Queryable,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  const rows = await db.query(DELETE_EMPTY, [firstIdAt("msg", before), limit]);
  return rows.length;
}
