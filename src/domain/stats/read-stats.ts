import { DAY, HOUR, MINUTE } from "../../runtime/durations.ts";
import type { EventKey, StatsInterval } from "../../schema/enumerations.ts";
import { type PeriodInput, type PeriodProblem, readPeriod, toTimestamp } from "../../schema/times.ts";
import { databaseTime, type Queryable } from "../../store/database/database.ts";
import { countBatchMessages, findBatchSpan } from "../../store/stats/batch-stats.ts";
import { countNames, STATS_SUBJECTS, type StatsSubject } from "../../store/stats/hours.ts";
import { readProgress, readStats, type StatsRow } from "../../store/stats/read-stats.ts";

type Counts<Outcome extends string> = Record<"accepted" | "waiting" | "failed" | Outcome, number>;
type MessageCounts = Counts<"sent" | "unknown" | "cancelled">;
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

/** Counts the messages of one batch as they are now. Undefined when the client has no such batch. */
export async function readBatchStats(
  db: Queryable,
  clientId: string,
  { batchId, channelId, ...period }: StatsPeriod & { batchId: string; channelId?: string | undefined },
): Promise<MessageStats | undefined> {
  const batch = await findBatchSpan(db, clientId, batchId);
  if (!batch) return undefined;
  // Read first: the rows are at least as recent.
  const updatedAt = await databaseTime(db);
  const isWanted = channelId === undefined || channelId === batch.channel_id;
  const rows = isWanted ? await countBatchMessages(db, clientId, { batch, ...period }) : [];
  return toStats(STATS_SUBJECTS.messages, { period, updatedAt, rows });
}

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
  return toStats<C, D>(subject, { period, updatedAt, rows });
}

const toStats = <C, D>(
  subject: StatsSubject,
  { period, updatedAt, rows }: { period: StatsPeriod; updatedAt: Date; rows: readonly StatsRow[] },
): Stats<C, D> => ({
  since: toTimestamp(period.since),
  until: toTimestamp(period.until),
  interval: period.interval,
  updated_at: toTimestamp(updatedAt),
  totals: toCounts(subject, totalsOf(subject, rows)) as C,
  data: rows.map((row) => toRow(subject, row)) as Stats<C, D>["data"],
});

const toCounts = (subject: StatsSubject, counts: readonly number[]) =>
  Object.fromEntries(countNames(subject).map((name, index) => [name, counts[index]]));

const totalsOf = (subject: StatsSubject, rows: readonly StatsRow[]): number[] =>
  countNames(subject).map((_, index) => rows.reduce((sum, { counts }) => sum + (counts[index] as number), 0));

const toRow = (subject: StatsSubject, { start, dimension, counts }: StatsRow) => ({
  start: toTimestamp(start),
  [subject.dimension]: dimension === "" ? null : dimension,
  ...toCounts(subject, counts),
});

/** Statistics reach this far back. */
const MAX_STATS_DAYS = 92;
const DEFAULT_PERIOD_MS = 1 * DAY;

/** A caller that asks for the longest period until now has calculated `since` a moment ago. */
const NOW_TOLERANCE_MS = 1 * MINUTE;

const INTERVALS_MS: Readonly<Record<StatsInterval, number>> = { hour: 1 * HOUR, day: 1 * DAY };

/** From the start of the first interval to the end of the last one. */
export interface StatsPeriod {
  since: Date;
  until: Date;
  interval: StatsInterval;
}

export interface StatsPeriodInput extends PeriodInput {
  interval?: StatsInterval | undefined;
}

/** Returns the whole intervals that contain the given times (default: the last 24 h), or the problem with them. */
export function readStatsPeriod(
  { interval = "hour", ...input }: StatsPeriodInput,
  now: number,
): StatsPeriod | PeriodProblem {
  const bounds = boundPeriod(input, { now, maxDays: MAX_STATS_DAYS });
  if ("field" in bounds) return bounds;
  const { since, until } = bounds;
  const span = INTERVALS_MS[interval];
  return {
    since: toDate(Math.floor(since / span) * span),
    until: toDate(Math.ceil(until / span) * span),
    interval,
  };
}

/** Returns both ends of a period (default: the last 24 h) in milliseconds since 1970, or the problem with them. */
export function boundPeriod(
  input: PeriodInput,
  { now, maxDays }: { now: number; maxDays: number },
): { since: number; until: number } | PeriodProblem {
  const period = readPeriod(input);
  if ("field" in period) return period;
  const until = period.until?.getTime() ?? Math.max(now, period.since?.getTime() ?? now);
  const since = period.since?.getTime() ?? until - DEFAULT_PERIOD_MS;
  const tolerance = period.until === undefined ? NOW_TOLERANCE_MS : 0;
  if (until - since > maxDays * DAY + tolerance)
    return { field: "since", problem: `must be at most ${maxDays} days before`, other: "until" };
  return { since, until };
}

const LAST_TIME = Date.UTC(9999, 11, 31);

/** Stays within the years that a timestamp of the API can express. */
const toDate = (time: number): Date => new Date(Math.min(Math.max(time, 0), LAST_TIME));
