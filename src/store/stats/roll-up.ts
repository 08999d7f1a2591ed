import { SECOND } from "../../runtime/durations.ts";
import { timeOfId } from "../../runtime/ids.ts";
import {
  type Database,
  type Queryable,
  type Statement,
  sql,
  type TransactionLimits,
} from "../database/database.ts";
import { WITHOUT_JIT } from "../events/events.ts";
import {
  type ClientHour,
  countNames,
  hourColumns,
  hourOf,
  hourTable,
  idRange,
  isOfHour,
  STATS_SUBJECTS,
  type StatsSubject,
} from "./hours.ts";

/** Everything here spans all clients: it finds the hours whose figures may have changed. */

/** With the limit, Postgres looks each client up in an index; a join would scan the whole partition. */
const activeStatement = ({ source: { table, alias } }: StatsSubject): Statement =>
  sql(`
  select c.id as "clientId"
  from clients c
  cross join lateral (
    select
    from ${table} ${alias}
    where ${alias}.client_id = c.id
    and ${alias}.id >= $1
    and ${alias}.id < $2
    limit 1
  ) found`);

const LIST_ACTIVE = {
  messages: activeStatement(STATS_SUBJECTS.messages),
  events: activeStatement(STATS_SUBJECTS.events),
};

/** The clients that have messages or events of the hour that starts at this time. */
export const listActiveClients = async (
  db: Queryable,
  subject: StatsSubject,
  start: number,
): Promise<ClientHour[]> => {
  const rows = await db.query<{ clientId: string }>(LIST_ACTIVE[subject.name], idRange(subject, start));
  return rows.map(({ clientId }) => ({ clientId, start }));
};

const isOpen = ({ openOutcomes }: StatsSubject) =>
  `(${openOutcomes.map((name) => `${name} > 0`).join(" or ")})`;

const openStatement = (subject: StatsSubject): Statement =>
  sql(`
  select
    client_id as "clientId",
    start,
    array[${subject.openOutcomes.map((name) => `sum(${name})`).join(", ")}]::integer[] as counts
  from ${subject.table}
  where start >= $1
  and start < $2
  and (start, client_id) > ($3, $4)
  and ${isOpen(subject)}
  group by start, client_id
  order by start, client_id
  limit $5`);

const LIST_OPEN = {
  messages: openStatement(STATS_SUBJECTS.messages),
  events: openStatement(STATS_SUBJECTS.events),
};

/** An hour with unsettled rows, and how many of each open outcome its figures have. */
export interface OpenHour extends ClientHour {
  counts: number[];
}

const BEFORE_ALL_CLIENTS = "00000000-0000-0000-0000-000000000000";

/** Lists up to `limit` open hours that start from `from` to before `to`, those after `last` only. */
export async function listOpenHours(
  db: Queryable,
  subject: StatsSubject,
  { from, to, last, limit }: { from: number; to: number; last: ClientHour | undefined; limit: number },
): Promise<OpenHour[]> {
  const position = [new Date(last?.start ?? from), last?.clientId ?? BEFORE_ALL_CLIENTS];
  const values = [new Date(from), new Date(to), ...position, limit];
  type Row = { clientId: string; start: Date; counts: number[] };
  const rows = await db.query<Row>(LIST_OPEN[subject.name], values);
  return rows.map((row) => ({ ...row, start: row.start.getTime() }));
}

/** Counts unsettled rows only, by the indexes on the status: hours have few of them and many settled ones. */
const changedStatement = (subject: StatsSubject): Statement => {
  const { source, outcomes, openOutcomes } = subject;
  const liveCount = (name: string) => `(
    select count(*)
    from ${source.table} ${source.alias}
    where ${isOfHour(subject, "h")}
    and ${outcomes[name]}
  )`;
  return sql(`
  select h.client_id as "clientId", h.start
  from ${hourTable(openOutcomes)}
  where ${openOutcomes.map((name) => `h.${name} <> ${liveCount(name)}`).join("\n  or ")}`);
};

const LIST_CHANGED = {
  messages: changedStatement(STATS_SUBJECTS.messages),
  events: changedStatement(STATS_SUBJECTS.events),
};

/**
 * Returns the hours whose rows have changed. Unsettled rows of a past hour only become fewer, unless
 * late_changes has it, so equal counts mean that nothing has changed.
 */
export async function listChangedHours(
  db: Queryable,
  subject: StatsSubject,
  hours: readonly OpenHour[],
): Promise<ClientHour[]> {
  const counts = subject.openOutcomes.map((_, index) => hours.map((hour) => hour.counts[index]));
  const values = [...hourColumns(subject, hours), ...counts];
  const rows = await db.query<{ clientId: string; start: Date }>(LIST_CHANGED[subject.name], values);
  return rows.map(({ clientId, start }) => ({ clientId, start: start.getTime() }));
}

/** Everything here spans all clients: it computes the figures of hours from their messages or deliveries. */

/**
 * One writer at a time: otherwise an older snapshot could overwrite the figures of a newer one. A statement of
 * its own, so that the next one sees everything committed before.
 */
const LOCK = sql(`
  select ${WITHOUT_JIT}, pg_advisory_xact_lock(hashtext('herald:stats ' || $1::text))`);

/**
 * Rows are deleted by retention only, so a smaller `accepted` means that some of them are gone: the figures
 * stay. The two outer bounds let Postgres skip the other partitions.
 */
function recomputeStatement(subject: StatsSubject): Statement {
  const { table, dimension, source, outcomes } = subject;
  const counts = countNames(subject);
  const columns = (alias: string) => counts.map((name) => `${alias}.${name}`).join(", ");
  return sql(`
  with alive as materialized (
    select id
    from clients
    where id = any($1)
    and deleted_at is null
    order by id
    for key share
  )
  insert into ${table} as s (client_id, start, ${dimension}, ${counts.join(", ")})
  select h.client_id, h.start, c.${dimension}, ${columns("c")}
  from ${hourTable()}
  cross join lateral (
    select
      ${subject.dimensionOf} as ${dimension},
      count(*)::integer as accepted,
      ${Object.entries(outcomes)
        .map(([name, condition]) => `(count(*) filter (where ${condition}))::integer as ${name}`)
        .join(",\n      ")}
    from ${source.table} ${source.alias}
    where ${isOfHour(subject, "h")}
    and ${source.alias}.id >= $5
    and ${source.alias}.id < $6
    group by 1
  ) c
  where h.client_id = any(array(select id from alive))
  on conflict (client_id, start, ${dimension}) do update
  set ${counts.map((name) => `${name} = excluded.${name}`).join(", ")}
  where (${columns("s")}) <> (${columns("excluded")})
  and excluded.accepted >= s.accepted
  returning 1 as one`);
}

const RECOMPUTE = {
  messages: recomputeStatement(STATS_SUBJECTS.messages),
  events: recomputeStatement(STATS_SUBJECTS.events),
};

async function recompute(
  tx: Queryable,
  subject: StatsSubject,
  hours: readonly ClientHour[],
): Promise<number> {
  if (hours.length === 0) return 0;
  const starts = hours.map(({ start }) => start);
  const [from] = idRange(subject, Math.min(...starts));
  const [, to] = idRange(subject, Math.max(...starts));
  const rows = await tx.query(RECOMPUTE[subject.name], [...hourColumns(subject, hours), from, to]);
  return rows.length;
}

/** Below the time for which a process waits for Postgres. A batch that takes longer is computed in halves. */
const STATEMENT_LIMITS_MS = { batch: 10 * SECOND, hour: 25 * SECOND };

const limitsOf = ({ length }: readonly ClientHour[]): TransactionLimits => ({
  statementMs: STATEMENT_LIMITS_MS[length > 1 ? "batch" : "hour"],
});

/** Computes the figures of these hours; returns how many rows have changed. */
export type Recompute = (
  db: Database,
  subject: StatsSubject,
  hours: readonly ClientHour[],
) => Promise<number>;

export const recomputeHours: Recompute = (db, subject, hours) =>
  db.transaction(async (tx) => {
    await tx.query(LOCK, [subject.name]);
    return recompute(tx, subject, hours);
  }, limitsOf(hours));

/** The same for hours with late changes, which it deletes. */
export const recomputeLateHours: Recompute = (db, subject, hours) =>
  db.transaction(async (tx) => {
    await tx.query(LOCK, [subject.name]);
    await tx.query(DELETE_LATE_CHANGES, [...hourColumns(subject, hours)]);
    return recompute(tx, subject, hours);
  }, limitsOf(hours));

/**
 * Deletes all changes of the hours, so that an hour with many changes is computed once. Each change is searched for in the sorted
 * hours of its client; a join with the bounds would compare it with every hour, and take ten times as long for 50 hours.
 */
const DELETE_LATE_CHANGES = sql(`
  delete from late_changes l
  using (
    select
      h.client_id,
      array_agg(h.from_id order by h.from_id collate "C") as from_ids,
      array_agg(h.to_id order by h.to_id collate "C") as to_ids
    from ${hourTable()}
    group by h.client_id
  ) c
  where l.client_id = c.client_id
  and l.id < c.to_ids[width_bucket(l.id, c.from_ids)]`);

/**
 * The first ten characters of an id name a span of 17 minutes, so the first and the last id are of at most two hours. The order
 * is random, so that spans that are listed again and again do not keep others from their turn.
 */
const LIST_LATE_CHANGES = sql(`
  select
    client_id as "clientId",
    min(id) as first,
    max(id) as last
  from late_changes
  where starts_with(id, $1)
  group by client_id, left(id, 10)
  order by random()
  limit $2`);

/** Lists the hours of up to `limit` spans with late changes. */
export async function listLateHours(
  db: Queryable,
  { prefix }: StatsSubject,
  limit: number,
): Promise<ClientHour[]> {
  type Row = { clientId: string; first: string; last: string };
  const rows = await db.query<Row>(LIST_LATE_CHANGES, [`${prefix}_`, limit]);
  const hours = rows.flatMap(({ clientId, first, last }) =>
    [first, last].map((id) => ({ clientId, start: hourOf(timeOfId(id)) })),
  );
  return [...new Map(hours.map((hour) => [`${hour.clientId} ${hour.start}`, hour])).values()];
}

const ADD_LATE_CHANGE = sql(`
  insert into late_changes (client_id, id)
  select c.id, $2
  from clients c
  where c.id = $1
  and c.deleted_at is null
  and not exists (
    select
    from late_changes l
    where l.client_id = $1
    and l.id = $2
  )`);

/** Lists the hour as a late one from now on, until it is computed. */
export const addLateHour = async (
  db: Queryable,
  subject: StatsSubject,
  { clientId, start }: ClientHour,
): Promise<void> => {
  await db.query(ADD_LATE_CHANGE, [clientId, idRange(subject, start)[0]]);
};
