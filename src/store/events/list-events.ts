import { onAbort } from "../../runtime/async/on-abort.ts";
import { firstIdAt } from "../../runtime/ids.ts";
import type { Database } from "../database/database.ts";
import { DatabaseUnavailable } from "../database/faults.ts";
import type { PageRequest } from "../database/paging.ts";
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

/** How many events are due again after a replay, and how many cannot be delivered. */
export interface EventCounts {
  queued: number;
  held: number;
}

/** Sorts after every id. */
const MAX_ID = "\x7f";

/** Each column has an index ordered by id. */
const FILTER_COLUMNS = ["key", "type", "channel_id", "message_id"] as const;

/**
 * Conditions on ids apply to events and deliveries; the others apply to one table and read the other only
 * when needed.
 */
interface Conditions {
  ids: readonly string[];
  events: readonly string[];
  deliveries: readonly string[];
}

type Bind = (value: unknown) => string;

/**
 * Newest first, with one row more than the limit if there is one; `before` reads backwards. The cost depends
 * on the page alone, unless two frequent filters rarely match together: then one is scanned along the rarer.
 */
export function listEvents(db: Database, clientId: string, search: EventSearch): Promise<EventRow[]> {
  const { text, values, isJoin } = listStatement(clientId, search);
  if (!isJoin) return db.query<EventRow>(text, values);
  return db.transaction(async (tx) => {
    // Joins partition by partition: a join of the whole tables would scan past all other events to find few
    // failed.
    await tx.query("set local enable_partitionwise_join = on");
    return tx.query<EventRow>(text, values);
  });
}

interface EventCount {
  statuses: readonly string[];
  filters: Omit<EventFilters, "status">;
}

/** When counting ends without a result. */
export interface CountLimits {
  timeoutMs: number;
  /** Aborted when the caller has gone. */
  signal?: AbortSignal | undefined;
}

/** Counts with one statement, which Postgres itself ends at the limits: the result is then undefined. */
export async function countEvents(
  db: Database,
  clientId: string,
  { timeoutMs, signal, ...count }: EventCount & CountLimits,
): Promise<EventCounts | undefined> {
  const { text, values } = countStatement(clientId, count);
  try {
    return await db.transaction(async (tx) => {
      await tx.query(countSettings(timeoutMs));
      const counting = tx.query<EventCounts>(text, values);
      const [counts] = await (signal ? disconnectOnAbort(signal, counting) : counting);
      return counts;
    });
  } catch (error) {
    if (isStatementTimeout(error) || signal?.aborted) return undefined;
    throw error;
  }
}

/** Postgres ends the statement of a closed connection only when it is told to look. */
const countSettings = (timeoutMs: number): string =>
  `set local statement_timeout = ${timeoutMs}; set local client_connection_check_interval = ${DISCONNECT_CHECK_MS}; set local enable_partitionwise_join = on`;

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

const isStatementTimeout = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "57014";

/** Reads each event of the period once, for all statuses. */
export function countStatement(clientId: string, { statuses, filters }: EventCount) {
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const client = bind(clientId);
  const conditions = {
    ...filterConditions(filters, bind),
    deliveries: [`${EVENT_STATUS} = any(${bind(statuses)})`],
  };
  const slices = slicesOf(conditions, filters, bind).map(
    (slice) => `
    select e.key
    from ${FROM_CLAUSES.ed}
    where ${whereClause(slice, ["e", "d"], client)}`,
  );
  const text = `
  select count(*) filter (where not is_held)::integer as queued, count(*) filter (where is_held)::integer as held
  from (
    select w.webhook_url is null or coalesce(e.key = any(w.disabled_keys), false) as is_held
    from (${slices.join(" union all ")}) e
    left join webhook_configs w on w.id = ${client}
  ) counted`;
  return { text, values };
}

/**
 * Built and planned for the given filters. It selects ids first, mostly from an index, then looks up each
 * row: left to choose, the planner may scan a whole table for them.
 */
export function listStatement(clientId: string, { page, filters }: EventSearch) {
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const [client, limit] = [bind(clientId), bind(page.limit + 1)];
  const order = page.before === undefined ? "desc" : "asc";
  const conditions = conditionsOf({ page, filters }, bind);
  const slices = slicesOf(conditions, filters, bind).map((slice) =>
    selectIds(slice, { client, order, limit }),
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
  left join webhook_configs w on w.id = ${client}
  order by e.id ${order}`;
  return { text, values, isJoin: needsJoin(conditions) };
}

function conditionsOf({ page, filters }: EventSearch, bind: Bind): Conditions {
  const { ids, ...conditions } = filterConditions(filters, bind);
  const position = page.before === undefined ? `< ${bind(page.after ?? MAX_ID)}` : `> ${bind(page.before)}`;
  return { ids: [position, ...ids], ...conditions };
}

function filterConditions(filters: EventFilters, bind: Bind): Conditions {
  const { status, since, until } = filters;
  const columns = FILTER_COLUMNS.filter((name) => filters[name] !== undefined);
  return {
    // An event is never recorded before it occurred, so its id is not older than `since`.
    ids: since ? [`>= ${bind(idAt(since.getTime()))}`] : [],
    events: [
      ...columns.map((name) => `e.${name} = ${bind(filters[name])}`),
      ...(since ? [`e.occurred_at >= ${bind(since)}`] : []),
      ...(until ? [`e.occurred_at <= ${bind(until)}`] : []),
    ],
    deliveries: status === undefined ? [] : [`${EVENT_STATUS} = ${bind(status)}`],
  };
}

/**
 * Splits the list at `until` plus LATE_AFTER_MS: of the events recorded later, only late ones can have
 * occurred before `until`.
 */
function slicesOf(conditions: Conditions, { until }: EventFilters, bind: Bind): Conditions[] {
  if (!until) return [conditions];
  const { ids, events, deliveries } = conditions;
  const end = bind(idAt(until.getTime() + LATE_AFTER_MS + 1));
  return [
    { ids: [...ids, `< ${end}`], events, deliveries },
    { ids: [...ids, `>= ${end}`], events: [...events, "e.is_late"], deliveries },
  ];
}

const needsJoin = ({ events, deliveries }: Conditions) => events.length > 0 && deliveries.length > 0;

interface SliceOptions {
  client: string;
  order: "asc" | "desc";
  limit: string;
}

function selectIds(conditions: Conditions, { client, order, limit }: SliceOptions): string {
  const { events, deliveries } = conditions;
  const sources = deliveries.length === 0 ? ["e"] : events.length === 0 ? ["d"] : ["e", "d"];
  return `(
      select ${sources[0]}.id
      from ${FROM_CLAUSES[sources.join("")]}
      where ${whereClause(conditions, sources, client)}
      order by ${sources[0]}.id ${order}
      limit ${limit}
    )`;
}

function whereClause(
  { ids, events, deliveries }: Conditions,
  sources: readonly string[],
  client: string,
): string {
  // Repeated for both tables: the planner does not derive it from the join condition.
  const shared = sources.flatMap((source) => [
    `${source}.client_id = ${client}`,
    ...ids.map((range) => `${source}.id ${range}`),
  ]);
  return [...shared, ...events, ...deliveries].join("\n      and ");
}

const FROM_CLAUSES: Readonly<Record<string, string>> = {
  e: "events e",
  d: "deliveries d",
  ed: "events e\n      join deliveries d on d.client_id = e.client_id and d.id = e.id",
};

/** Limits the time to the range that an id can encode. */
const idAt = (time: number) => firstIdAt("evt", Math.min(Math.max(time, 0), 2 ** 48 - 1));
