import type { EventKey, StatsInterval } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/timestamps.ts";
import type { Queryable } from "../../store/database/database.ts";
import { readProgress } from "../../store/stats/progress.ts";
import { readStats, type StatsRow } from "../../store/stats/read-stats.ts";
import { countNames, STATS_SUBJECTS, type StatsSubject } from "../../store/stats/subjects.ts";
import type { StatsPeriod } from "./stats-period.ts";

type Counts<Outcome extends string> = Record<"accepted" | "waiting" | "failed" | Outcome, number>;
type MessageCounts = Counts<"sent" | "unknown">;
type EventCounts = Counts<"delivered" | "skipped">;

export interface Stats<C, D> {
  since: string;
  until: string;
  interval: StatsInterval;
  /** The figures include at least everything that happened before this time. */
  updated_at: string;
  totals: C;
  data: (C & D & { start: string })[];
}

export type MessageStats = Stats<MessageCounts, { channel_id: string }>;
export type EventStats = Stats<EventCounts, { key: EventKey | null }>;

/** More rows would occupy the event loop and much memory. */
export const MAX_STATS_ROWS = 25_000;

/** Undefined when there are more than MAX_STATS_ROWS rows. */
export const readMessageStats = (
  db: Queryable,
  clientId: string,
  { channelId, ...period }: StatsPeriod & { channelId?: string | undefined },
): Promise<MessageStats | undefined> =>
  readSubject(db, clientId, { subject: STATS_SUBJECTS.messages, period, dimension: channelId });

/** Undefined when there are more than MAX_STATS_ROWS rows. */
export const readEventStats = (
  db: Queryable,
  clientId: string,
  { key, ...period }: StatsPeriod & { key?: string | undefined },
): Promise<EventStats | undefined> =>
  readSubject(db, clientId, { subject: STATS_SUBJECTS.events, period, dimension: key });

interface SubjectSearch {
  subject: StatsSubject;
  period: StatsPeriod;
  dimension: string | undefined;
}

async function readSubject<C, D>(
  db: Queryable,
  clientId: string,
  { subject, period, dimension }: SubjectSearch,
): Promise<Stats<C, D> | undefined> {
  const { since, until, interval } = period;
  // Read first: the rows are at least as recent.
  const updatedAt = await readProgress(db, subject);
  const search = { from: since, to: until, interval, dimension, limit: MAX_STATS_ROWS + 1 };
  const rows = await readStats(db, clientId, { subject, search });
  if (rows.length > MAX_STATS_ROWS) return undefined;
  return {
    since: toTimestamp(since),
    until: toTimestamp(until),
    interval,
    updated_at: toTimestamp(updatedAt),
    totals: toCounts(subject, totalsOf(subject, rows)) as C,
    data: rows.map((row) => toRow(subject, row)) as Stats<C, D>["data"],
  };
}

const toCounts = (subject: StatsSubject, counts: readonly number[]) =>
  Object.fromEntries(countNames(subject).map((name, index) => [name, counts[index]]));

const totalsOf = (subject: StatsSubject, rows: readonly StatsRow[]): number[] =>
  countNames(subject).map((_, index) => rows.reduce((sum, { counts }) => sum + (counts[index] as number), 0));

const toRow = (subject: StatsSubject, { start, dimension, counts }: StatsRow) => ({
  start: toTimestamp(start),
  [subject.dimension]: dimension === "" ? null : dimension,
  ...toCounts(subject, counts),
});
