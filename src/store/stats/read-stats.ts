import { type Queryable, type Statement, sql } from "../database/database.ts";
import { countNames, STATS_SUBJECTS, type StatsSubject } from "./subjects.ts";

/** Figures of one interval and one channel or key. */
export interface StatsRow {
  start: Date;
  /** The channel's id, or the key; empty for events without a key. */
  dimension: string;
  /** `accepted` and the subject's outcomes. */
  counts: number[];
}

/** The rows of intervals that start from `from` to before `to`, both starts of an interval. */
export interface StatsSearch {
  from: Date;
  to: Date;
  interval: "hour" | "day";
  /** Only this channel or key. */
  dimension?: string | undefined;
  limit: number;
}

const readStatement = (subject: StatsSubject, condition = ""): Statement =>
  sql(`
  select
    date_trunc($4, start, 'UTC') as start,
    ${subject.dimension} as dimension,
    array[${countNames(subject)
      .map((name) => `sum(${name})`)
      .join(", ")}]::double precision[] as counts
  from ${subject.table}
  where client_id = $1
  and start >= $2
  and start < $3${condition}
  group by 1, 2
  order by 1, 2
  limit $5`);

const readStatements = (subject: StatsSubject) => ({
  all: readStatement(subject),
  one: readStatement(subject, `\n  and ${subject.dimension} = $6`),
});

const READ = {
  messages: readStatements(STATS_SUBJECTS.messages),
  events: readStatements(STATS_SUBJECTS.events),
};

/** Oldest first. */
export function readStats(
  db: Queryable,
  clientId: string,
  { subject, search }: { subject: StatsSubject; search: StatsSearch },
): Promise<StatsRow[]> {
  const { from, to, interval, dimension, limit } = search;
  const values = [clientId, from, to, interval, limit];
  const { all, one } = READ[subject.name];
  return dimension === undefined
    ? db.query<StatsRow>(all, values)
    : db.query<StatsRow>(one, [...values, dimension]);
}
