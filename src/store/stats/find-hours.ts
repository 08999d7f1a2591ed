import { type Queryable, type Statement, sql } from "../database/database.ts";
import { type ClientHour, hourColumns, hourTable, idRange } from "./client-hours.ts";
import { isOfHour, STATS_SUBJECTS, type StatsSubject } from "./subjects.ts";

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
