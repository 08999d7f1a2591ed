import { LRUCache } from "lru-cache";
import type { InsightsQuery } from "../../platforms/ads/insights.ts";
import type { Fields } from "../../platforms/bodies.ts";
import { textOf } from "../../platforms/bodies.ts";
import { readAllItems } from "../../platforms/client/list-pages.ts";
import { type Day, type DayRange, daysOf, firstOfMonth, plusDays, todayIn } from "../../runtime/days.ts";
import { MINUTE } from "../../runtime/durations.ts";
import type { SummaryPreset } from "../../schema/ad-enumerations.ts";
import type { Database } from "../../store/database/database.ts";
import { type AdAccountAccess, callForAccount, forAllCallers } from "./ad-account-access.ts";
import type { AdObjectParts } from "./ad-objects.ts";

const DAILY_METRICS = ["impressions", "clicks", "spend"] as const;
const METRICS = [...DAILY_METRICS, "reach", "ctr", "cpc", "cpm"] as const;

type Totals = Record<(typeof METRICS)[number], string>;
type DayTotals = Record<(typeof DAILY_METRICS)[number], string> & { date: Day };

/** The delivery of an account in a period, beside the period of equal length before it. */
export interface InsightsSummary extends DayRange {
  currency: string;
  totals: Totals;
  previous: Totals;
  /** Fractions; null where the previous value is 0. */
  change: Record<keyof Totals, number | null>;
  by_day: DayTotals[];
}

const MAX_CACHED_SUMMARIES = 1_000;

interface SummaryRequest {
  db: Database;
  account: AdAccountAccess;
  preset: SummaryPreset;
}

/** Reads summaries and caches each for a minute. */
export function createSummaryReader(parts: Omit<AdObjectParts, "db">) {
  const summaries = new LRUCache<string, InsightsSummary, SummaryRequest>({
    max: MAX_CACHED_SUMMARIES,
    ttl: 1 * MINUTE,
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context }) =>
      callForAccount(forAllCallers(parts, context), context.account, () => readSummary(parts, context)),
  });
  return (request: SummaryRequest): Promise<InsightsSummary> => {
    const { client_id, ad_account_id } = request.account.row;
    return summaries.forceFetch(`${client_id} ${ad_account_id} ${request.preset}`, { context: request });
  };
}

async function readSummary(
  { platforms }: Pick<AdObjectParts, "platforms">,
  { account: { access, row }, preset }: SummaryRequest,
): Promise<InsightsSummary> {
  const period = toRange(preset, todayIn(row.timezone_name));
  const earlier = rangeBefore(period);
  // The platform may return fewer rows on a page than requested.
  const readRows = (query: InsightsQuery) =>
    readAllItems((after) => platforms.ads.insights.rows(access, query, { limit: MAX_DAYS, after }));
  const [periods, days] = await Promise.all([
    readRows({ fields: METRICS, timeRanges: [period, earlier] }),
    readRows({ fields: DAILY_METRICS, timeRange: period, timeIncrement: "1" }),
  ]);
  const totals = toTotals(METRICS, findRow(periods, period.since));
  const previous = toTotals(METRICS, findRow(periods, earlier.since));
  const change = Object.fromEntries(
    METRICS.map((metric) => [metric, changeOf(totals[metric], previous[metric])]),
  );
  const by_day = daysOf(period).map((date) => ({
    date,
    ...toTotals(DAILY_METRICS, findRow(days, date)),
  }));
  return {
    currency: row.currency,
    ...period,
    totals,
    previous,
    change: change as InsightsSummary["change"],
    by_day,
  };
}

/** More than the longest period has. */
const MAX_DAYS = 100;

const PRESET_DAYS: Readonly<Record<Exclude<SummaryPreset, "last_month">, number>> = {
  yesterday: 1,
  last_7d: 7,
  last_14d: 14,
  last_28d: 28,
  last_30d: 30,
  last_90d: 90,
};

/** The days of a preset, like the platform's: today is not included. */
function toRange(preset: SummaryPreset, today: Day): DayRange {
  if (preset === "last_month")
    return { since: firstOfMonth(today, -1), until: plusDays(firstOfMonth(today), -1) };
  return { since: plusDays(today, -PRESET_DAYS[preset]), until: plusDays(today, -1) };
}

const rangeBefore = (range: DayRange): DayRange => ({
  since: plusDays(range.since, -daysOf(range).length),
  until: plusDays(range.since, -1),
});

/** A period without delivery has no row. */
const findRow = (rows: readonly Fields[], since: Day): Fields =>
  rows.find(({ date_start }) => date_start === since) ?? {};

const toTotals = <M extends string>(metrics: readonly M[], row: Fields): Record<M, string> =>
  Object.fromEntries(metrics.map((metric) => [metric, textOf(row[metric]) ?? "0"])) as Record<M, string>;

function changeOf(value: string, previous: string): number | null {
  const [now, before] = [Number(value), Number(previous)];
  return before === 0 || Number.isNaN(now / before) ? null : roundFraction((now - before) / before);
}

const roundFraction = (fraction: number): number => Math.round(fraction * 1e6) / 1e6;
