import { MAX_CLOCK_DIFFERENCE_MS } from "../../runtime/deadlines.ts";
import { MINUTE } from "../../runtime/durations.ts";
import { firstIdAt } from "../../runtime/ids.ts";
import { uuidArray } from "../database/binary-arrays.ts";
import { type Queryable, sql } from "../database/database.ts";
import { isCommittedAt, type Mark } from "./stream-marks.ts";

/** An event as the stream sends it. */
export interface StreamRow {
  client_id: string;
  id: string;
  type: string;
  key: string | null;
  channel_id: string | null;
  /** The body of its deliveries. */
  payload: string;
}

/** An absent filter matches every event. */
export interface StreamFilters {
  types?: readonly string[] | undefined;
  keys?: readonly string[] | undefined;
  channelId?: string | undefined;
}

/** The events that were committed between two marks; `since` (milliseconds) begins with all events recorded from then on. */
export interface StreamRange {
  from: Mark | { since: number };
  to: Mark;
  /** Only events after this id. */
  after?: string | undefined;
}

export interface StreamPage {
  rows: StreamRow[];
  /** The id up to which the range was read; undefined when it was read to its end. */
  position: string | undefined;
}

interface PageOptions {
  filters?: StreamFilters;
  maxRows: number;
  maxBytes: number;
}

/** Rows that one statement looks at for a filter, so that rare matches cannot make it slow. */
const MAX_SCANNED_ROWS = 1_000;

/** No id is newer than its transaction by more than clocks may differ; the bound excludes the partitions of later days. */
const MAX_ID_AHEAD_MS = 1 * MINUTE;

/**
 * Looks at the rows of each client in the order of their ids, then at the payloads of those that match. Those committed at the
 * first mark belong to an earlier page, those committed after the second one to a later page. A row that is older than a mark's
 * floor was committed at it, so its transaction's number is not compared.
 */
const READ = sql(`
  with scanned as materialized (
    select e.*
    from unnest($1::uuid[]) c (client_id)
    cross join lateral (
      select client_id, id, type, key, channel_id, octet_length(payload) as bytes
      from events
      where client_id = c.client_id
      and id > $2
      and id < $3
      and not (id < $4 and ${isCommittedAt("$5::bigint", "$6::bigint[]")})
      and (id < $9 or ${isCommittedAt("$7::bigint", "$8::bigint[]")})
      order by id
      limit $15
    ) e
    order by e.id
    limit $15
  ),
  matching as materialized (
    select *, row_number() over (order by id) as place, sum(bytes) over (order by id) - bytes as bytes_before
    from scanned
    where ($10::text[] is null or type = any($10::text[]))
    and ($11::text[] is null or key = any($11::text[]))
    and ($12::text is null or channel_id = $12::text)
  )
  select s.*, m.client_id, m.id, m.type, m.key, m.channel_id, e.payload
  from (
    select
      count(*)::integer as scanned,
      max(id) as last_id,
      (select count(*)::integer from matching) as matched
    from scanned
  ) s
  left join matching m on m.place <= $13::integer and m.bytes_before < $14::integer
  left join lateral (
    select payload
    from events
    where client_id = m.client_id
    and id = m.id
    limit 1
  ) e on true
  order by m.id`);

interface ReadRow extends StreamRow {
  scanned: number;
  last_id: string;
  matched: number;
}

/** Spans the given clients. Reads the next events of a range in the order of their ids, at least one if there is one. */
export async function readStreamPage(
  db: Queryable,
  clientIds: readonly string[],
  { from, to, after }: StreamRange,
  { filters = {}, maxRows, maxBytes }: PageOptions,
): Promise<StreamPage> {
  if (clientIds.length === 0) return { rows: [], position: undefined };
  const idAt = (time: number) => firstIdAt("evt", time);
  const isStart = "since" in from;
  const isFiltered = Object.values(filters).some((filter) => filter !== undefined);
  const maxScanned = isFiltered ? MAX_SCANNED_ROWS : maxRows + 1;
  const found = await db.query<ReadRow>(READ, [
    uuidArray(clientIds),
    after ?? idAt(isStart ? from.since : from.floor),
    idAt(to.at + MAX_ID_AHEAD_MS),
    // An id that is newer than the mark was not committed at it, whatever its transaction's number seems to tell.
    isStart ? "" : idAt(from.at + MAX_CLOCK_DIFFERENCE_MS),
    ...(isStart ? [0, []] : [from.snapshot.end, from.snapshot.running]),
    ...[to.snapshot.end, to.snapshot.running, idAt(to.floor)],
    ...[filters.types ?? null, filters.keys ?? null, filters.channelId ?? null],
    ...[maxRows, maxBytes, maxScanned],
  ]);
  const { scanned, matched, last_id } = found[0] as ReadRow;
  const rows = found.flatMap(({ scanned, matched, last_id, ...row }) => (row.id === null ? [] : [row]));
  if (rows.length < matched) return { rows, position: rows.at(-1)?.id };
  return { rows, position: scanned === maxScanned ? last_id : undefined };
}
