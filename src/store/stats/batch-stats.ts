import { HOUR } from "../../runtime/durations.ts";
import { timeOfId } from "../../runtime/ids.ts";
import { type Queryable, sql } from "../database/database.ts";
import { hourColumns, hourOf, hourTable, isOfHour, STATS_SUBJECTS } from "./hours.ts";
import type { StatsRow, StatsSearch } from "./read-stats.ts";

/** The channel of a batch, and the bounds of the ids of its messages. */
interface BatchSpan {
  id: string;
  channel_id: string;
  first_message_id: string;
  last_message_id: string;
}

const FIND_SPAN = sql(`
  select id, channel_id, first_message_id, last_message_id
  from batches
  where client_id = $1
  and id = $2`);

export async function findBatchSpan(
  db: Queryable,
  clientId: string,
  batchId: string,
): Promise<BatchSpan | undefined> {
  const [row] = await db.query<BatchSpan>(FIND_SPAN, [clientId, batchId]);
  return row;
}

const SUBJECT = STATS_SUBJECTS.messages;

/** The figures of the roll-up have no batch. The outer bounds let Postgres skip the other partitions. */
const COUNT = sql(`
  select
    date_trunc($8, h.start, 'UTC') as start,
    m.channel_id as dimension,
    array[count(*), ${Object.values(SUBJECT.outcomes)
      .map((condition) => `count(*) filter (where ${condition})`)
      .join(", ")}]::double precision[] as counts
  from ${hourTable()}
  join messages m on ${isOfHour(SUBJECT, "h")}
  where m.client_id = $9
  and m.batch_id = $5
  and m.id >= $6
  and m.id <= $7
  group by 1, 2
  order by 1, 2`);

/** The figures of a batch in the intervals that start from `since` to before `until`. Its ids may be of two hours. */
export async function countBatchMessages(
  db: Queryable,
  clientId: string,
  {
    batch,
    since,
    until,
    interval,
  }: { batch: BatchSpan; since: Date; until: Date } & Pick<StatsSearch, "interval">,
): Promise<StatsRow[]> {
  const hours = hoursOf(batch)
    .filter((start) => start >= since.getTime() && start < until.getTime())
    .map((start) => ({ clientId, start }));
  if (hours.length === 0) return [];
  const bounds = [batch.first_message_id, batch.last_message_id];
  return db.query<StatsRow>(COUNT, [...hourColumns(SUBJECT, hours), batch.id, ...bounds, interval, clientId]);
}

function hoursOf({ first_message_id, last_message_id }: BatchSpan): number[] {
  const [first, last] = [hourOf(timeOfId(first_message_id)), hourOf(timeOfId(last_message_id))];
  return Array.from({ length: (last - first) / HOUR + 1 }, (_, index) => first + index * HOUR);
}
