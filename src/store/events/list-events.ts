import { onAbort } from "../../runtime/async/timeouts-and-retries.ts";
import { nearestIdAt } from "../../runtime/ids.ts";
import type { Database, Queryable } from "../database/database.ts";
import { DatabaseUnavailable, isStatementTimeout } from "../database/faults.ts";
import {
  filterCondition,
  findRare,
  findRarest,
  type IndexedFilter,
  type Order,
  type PageRequest,
  withOrderedScans,
} from "../database/paging.ts";
import { EVENT_COLUMNS, EVENT_STATUS, type EventRow } from "./events.ts";
import { LATE_AFTER_MS } from "./insert-events.ts";

export interface EventFilters {
  status?: string | undefined;
  key?: string | undefined;
  type?: string | undefined;
  channel_id?: string | undefined;
  message_id?: string | undefined;
  /** When the event occurred; both bounds are inclusive. */
  since?: Date;
  until?: Date;
}

export interface EventSearch {
  page: PageRequest;
  filters: EventFilters;
}

/** How many events of a type are due again after a replay, and how many cannot be delivered. */
interface TypeCount {
  type: string;
  queued: number;
  held: number;
}

/** Each column has an index ordered by id. */
const FILTER_COLUMNS = ["key", "type", "channel_id", "message_id"] as const;
type FilterName = (typeof FILTER_COLUMNS)[number] | "status";

/** Events and deliveries, by their alias. */
const TABLES = { e: "events", d: "deliveries" } as const;
type Alias = keyof typeof TABLES;

interface EventFilter extends IndexedFilter {
  name: FilterName;
  alias: Alias;
}

/** A range of ids, searched along the index of the filter `scanned`. */
interface Slice {
  /** Conditions on the ids of both tables. */
  ids: readonly string[];
  /** Conditions on events. */
  times: readonly string[];
  filters: readonly EventFilter[];
  scanned: FilterName | undefined;
}

type Bind = (value: unknown) => string;

/**
 * Newest first, with one row more than the limit if there is one; `before` reads backwards. The cost depends
 * on the page alone, unless two frequent filters rarely match together: then one is scanned along the rarer.
 */
export const listEvents = (db: Database, clientId: string, search: EventSearch): Promise<EventRow[]> =>
  withOrderedScans(db, async (tx) => {
    const { text, values } = listStatement(clientId, search, await findScannedFilter(tx, clientId, search));
    return tx.query<EventRow>(text, values);
  });

/** Returns the filter whose index a list scans. */
export async function findScannedFilter(
  tx: Queryable,
  clientId: string,
  search: EventSearch,
): Promise<FilterName | undefined> {
  // A message has few events.
  if (search.filters.message_id !== undefined) return "message_id";
  const rarest = await findRarest(tx, ...probeOf(clientId, search));
  return rarest?.name;
}

/** Returns the filters of a search, and the rows among which their matches are compared. */
function probeOf(clientId: string, { page, filters }: EventSearch) {
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const client = bind(clientId);
  const { until } = filters;
  const ids = [
    ...pageIds(page, bind),
    ...sinceIds(filters, bind),
    ...(until ? [`< ${bind(nextIdAt(until))}`] : []),
  ];
  const options = {
    order: orderOf(page),
    rangeOf: (alias: string) => rangeOf(alias, client, ids),
    values,
  };
  return [indexedFilters(filters, bind), options] as const;
}

interface EventCount {
  statuses: readonly string[];
  filters: Omit<EventFilters, "status">;
}

/**
 * Returns the filter whose index a count scans: the status, unless another one has few matches. A count reads all matches
 * of that filter, so their frequency at one end of the period does not tell its cost.
 */
export async function findCountedFilter(
  tx: Queryable,
  clientId: string,
  filters: EventCount["filters"],
): Promise<FilterName> {
  if (filters.message_id !== undefined) return "message_id";
  const [indexed, options] = probeOf(clientId, { page: { limit: 0 }, filters });
  if (indexed.length === 0) return "status";
  await tx.query("set local enable_bitmapscan = off");
  const rare = await findRare(tx, indexed, options);
  await tx.query("set local enable_bitmapscan to default");
  return rare?.name ?? "status";
}

/** When counting ends without a result. */
export interface CountLimits {
  timeoutMs: number;
  /** Aborted when the caller has gone. */
  signal?: AbortSignal | undefined;
}

/** Counts by type. Postgres itself ends the statement at the limits: the result is then undefined. */
export async function countEvents(
  db: Database,
  clientId: string,
  { timeoutMs, signal, ...count }: EventCount & CountLimits,
): Promise<TypeCount[] | undefined> {
  try {
    return await db.transaction(async (tx) => {
      await tx.query(countSettings(timeoutMs));
      const counting = runCount(tx, clientId, count);
      return signal ? disconnectOnAbort(signal, counting) : counting;
    });
  } catch (error) {
    if (isStatementTimeout(error) || signal?.aborted) return undefined;
    throw error;
  }
}

async function runCount(tx: Queryable, clientId: string, count: EventCount): Promise<TypeCount[]> {
  const scanned = await findCountedFilter(tx, clientId, count.filters);
  const { text, values } = countStatement(clientId, count, scanned);
  return tx.query<TypeCount>(text, values);
}

/** Postgres ends the statement of a closed connection only when it is told to look. */
const countSettings = (timeoutMs: number): string =>
  `set local statement_timeout = ${timeoutMs}; set local client_connection_check_interval = ${DISCONNECT_CHECK_MS}; set local enable_partitionwise_join = on; set local jit = off`;

const DISCONNECT_CHECK_MS = 250;

/** The error closes the connection of the transaction. */
const disconnectOnAbort = <T>(signal: AbortSignal, counting: Promise<T>): Promise<T> =>
  Promise.race([
    counting,
    new Promise<never>((_resolve, reject) => {
      const disconnect = () => reject(new DatabaseUnavailable(new Error("the caller disconnected")));
      if (signal.aborted) disconnect();
      else onAbort(signal, disconnect);
    }),
  ]);

/**
 * Reads the deliveries of each status along their index, then their events: one by one or all together, as Postgres
 * expects few or many. With another filter scanned, it reads its few events, then their deliveries.
 */
export function countStatement(clientId: string, { statuses, filters }: EventCount, scanned: FilterName) {
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const client = bind(clientId);
  const period = { ids: sinceIds(filters, bind), times: timeConditions(filters, bind) };
  const indexed = indexedFilters(filters, bind);
  const slices = statuses.flatMap((status) =>
    slicesOf(filters, bind, {
      ...period,
      filters: [...indexed, statusFilter(bind(status))],
      scanned,
    }),
  );
  const text = `
  select
    type, count(*) filter (where not is_held)::integer as queued, count(*) filter (where is_held)::integer as held
  from (
    select e.type, w.webhook_url is null or coalesce(e.key = any(w.disabled_keys), false) as is_held
    from (${slices.map((slice) => selectSlice(slice, { client, isList: false })).join(" union all ")}) e
    left join webhook_configs w on w.client_id = ${client}
  ) counted
  group by type`;
  return { text, values };
}

/**
 * Built and planned for the given filters. It selects ids first, mostly from an index, then looks up each
 * row: left to choose, the planner may scan a whole table for them.
 */
export function listStatement(
  clientId: string,
  { page, filters }: EventSearch,
  scanned: FilterName | undefined,
) {
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const [client, limit] = [bind(clientId), bind(page.limit + 1)];
  const order = orderOf(page);
  const slices = slicesOf(filters, bind, {
    ids: [...pageIds(page, bind), ...sinceIds(filters, bind)],
    times: timeConditions(filters, bind),
    filters: indexedFilters(filters, bind),
    scanned,
  }).map(
    (slice) => `(${selectSlice(slice, { client, isList: true })}
      order by id ${order}
      limit ${limit}
    )`,
  );
  const text = `
  select ${EVENT_COLUMNS}
  from (
    select id
    from (${slices.join(" union all ")}) slices
    order by id ${order}
    limit ${limit}
  ) found
  cross join lateral (
    select id, type, key, channel_id, ad_account_id, occurred_at
    from events
    where client_id = ${client}
    and id = found.id
    limit 1
  ) e
  cross join lateral (
    select state, skip_reason, attempts, last_status_code, last_error, next_attempt_at, url, delivered_at
    from deliveries
    where client_id = ${client}
    and id = found.id
    limit 1
  ) d
  left join webhook_configs w on w.client_id = ${client}
  order by e.id ${order}`;
  return { text, values };
}

const orderOf = ({ before }: PageRequest): Order => (before === undefined ? "desc" : "asc");

function pageIds({ after, before }: PageRequest, bind: Bind): string[] {
  if (before !== undefined) return [`> ${bind(before)}`];
  return after === undefined ? [] : [`< ${bind(after)}`];
}

/** An event is never recorded before it occurred, so its id is not older than `since`. */
const sinceIds = ({ since }: EventFilters, bind: Bind): string[] =>
  since ? [`>= ${bind(idAt(since.getTime()))}`] : [];

const timeConditions = ({ since, until }: EventFilters, bind: Bind): string[] => [
  ...(since ? [`e.occurred_at >= ${bind(since)}`] : []),
  ...(until ? [`e.occurred_at <= ${bind(until)}`] : []),
];

const indexedFilters = (filters: EventFilters, bind: Bind): EventFilter[] => [
  ...FILTER_COLUMNS.filter((name) => filters[name] !== undefined).map(
    (name): EventFilter => ({
      name,
      table: TABLES.e,
      alias: "e",
      column: `e.${name}`,
      value: bind(filters[name]),
    }),
  ),
  ...(filters.status === undefined ? [] : [statusFilter(bind(filters.status))]),
];

const statusFilter = (value: string): EventFilter => ({
  name: "status",
  table: TABLES.d,
  alias: "d",
  column: EVENT_STATUS,
  value,
});

/**
 * Splits the list at `until` plus LATE_AFTER_MS: of the events recorded later, only late ones can have
 * occurred before `until`. They are found along their own index.
 */
function slicesOf({ until }: EventFilters, bind: Bind, slice: Slice): Slice[] {
  if (!until) return [slice];
  const { ids, times, scanned } = slice;
  const end = bind(idAt(until.getTime() + LATE_AFTER_MS + 1));
  const late = { ...slice, ids: [...ids, `>= ${end}`], times: [...times, "e.is_late"], scanned: undefined };
  if (scanned !== "status") return [{ ...slice, ids: [...ids, `< ${end}`] }, late];
  // Most events of the minutes after `until` occurred later, which their deliveries do not tell.
  const next = bind(nextIdAt(until));
  return [
    { ...slice, ids: [...ids, `< ${next}`] },
    { ...slice, ids: [...ids, `>= ${next}`, `< ${end}`], scanned: undefined },
    late,
  ];
}

/**
 * Scans one table and looks up its rows in the other by id alone: with more conditions and no statistics, Postgres
 * may expect one row in each and compare all with all. A list stops early, so it looks up each row by itself.
 */
function selectSlice(slice: Slice, { client, isList }: { client: string; isList: boolean }): string {
  const [alias, other]: [Alias, Alias] = slice.scanned === "status" ? ["d", "e"] : ["e", "d"];
  const checks = conditionsOn(other, slice);
  const lookup = `
      cross join lateral (
        select ${other === "e" ? "e.key, e.type" : "d.id"}
        from ${TABLES[other]} ${other}
        where ${[`${other}.client_id = ${client}`, `${other}.id = ${alias}.id`, ...checks].join("\n        and ")}${isList ? "\n        limit 1" : ""}
      ) ${other}`;
  return `
      select ${isList ? `${alias}.id` : "e.key, e.type"}
      from ${TABLES[alias]} ${alias}${isList && checks.length === 0 ? "" : lookup}
      where ${[...rangeOf(alias, client, slice.ids), ...conditionsOn(alias, slice)].join("\n      and ")}`;
}

const conditionsOn = (alias: Alias, { times, filters, scanned }: Slice): string[] => [
  ...filters
    .filter((filter) => filter.alias === alias)
    .map((filter) => filterCondition(filter, filter.name === scanned)),
  ...(alias === "e" ? times : []),
];

const rangeOf = (alias: string, client: string, ids: readonly string[]): string[] => [
  `${alias}.client_id = ${client}`,
  ...ids.map((range) => `${alias}.id ${range}`),
];

/** The first id that is later than the time. */
const nextIdAt = (time: Date): string => idAt(time.getTime() + 1);

const idAt = (time: number) => nearestIdAt("evt", time);
