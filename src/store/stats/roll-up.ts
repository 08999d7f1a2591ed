import { HOUR } from "../../runtime/durations.ts";
import { timeOfId } from "../../runtime/ids.ts";
import { type Database, type Queryable, type Statement, sql } from "../database/database.ts";
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

/** Computes the figures of these hours; returns how many rows have changed. */
export const recomputeHours = (
  db: Database,
  subject: StatsSubject,
  hours: readonly ClientHour[],
): Promise<number> =>
  db.transaction(async (tx) => {
    await tx.query(LOCK, [subject.name]);
    return recompute(tx, subject, hours);
  });

const LIST_LATE_CHANGES = sql(`
  select client_id as "clientId", id
  from late_changes
  where starts_with(id, $1)
  limit $2`);

/** Deletes all changes of the hours, so that an hour with many changes is computed once. */
const FORGET_LATE_CHANGES = sql(`
  delete from late_changes l
  using unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[]) as h (client_id, start, from_id, to_id)
  where l.client_id = h.client_id
  and l.id >= h.from_id
  and l.id < h.to_id`);

/** Changes that are read to find hours. */
const MAX_READ_CHANGES = 1_000;

interface RecomputedHours {
  /** Rows of figures that have changed. */
  changed: number;
  /** True when there may be further late changes. */
  hasMore: boolean;
}

/** Computes up to `maxHours` hours of late changes, and forgets the changes of these hours in the same transaction. */
export const recomputeLateChanges = (
  db: Database,
  subject: StatsSubject,
  maxHours: number,
): Promise<RecomputedHours> =>
  db.transaction(async (tx) => {
    await tx.query(LOCK, [subject.name]);
    const changes = await tx.query<{ clientId: string; id: string }>(LIST_LATE_CHANGES, [
      `${subject.prefix}_`,
      MAX_READ_CHANGES,
    ]);
    const found = toHours(changes);
    const hours = found.slice(0, maxHours);
    if (hours.length > 0) await tx.query(FORGET_LATE_CHANGES, [...hourColumns(subject, hours)]);
    const hasMore = changes.length === MAX_READ_CHANGES || found.length > hours.length;
    return { changed: await recompute(tx, subject, hours), hasMore };
  });

function toHours(changes: readonly { clientId: string; id: string }[]): ClientHour[] {
  const hours = changes.map(({ clientId, id }) => ({ clientId, start: hourOf(timeOfId(id)) }));
  return [...new Map(hours.map((hour) => [`${hour.clientId} ${hour.start / HOUR}`, hour])).values()];
}
