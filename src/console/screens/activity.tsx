import { call } from "../app/api.ts";
import { useLoaded, usePolling } from "../app/loading.ts";
import { hrefOf, navigate, type Query, query } from "../app/router.ts";
import { Chart } from "../components/chart.tsx";
import type { ChartSeries } from "../components/chart-drawing.ts";
import { texts } from "../texts.ts";

/** A period that ends now, with a bar for each interval. */
export interface Period {
  name: string;
  title: string;
  interval: "hour" | "day";
  bars: number;
}

const HOUR_MS = 3_600_000;
const INTERVALS_MS = { hour: HOUR_MS, day: 24 * HOUR_MS };

export const LAST_24_HOURS: Period = { name: "24h", title: texts.last24Hours, interval: "hour", bars: 24 };

/** What is counted by outcome. */
export interface Statistics {
  apiPath: string;
  /** The filter of the list that the statistics have too. */
  filter: string;
  /** The list of what is counted. */
  listPath: string;
  label(period: string): string;
  /** From the bottom of the bars to the top. */
  outcomes: readonly Outcome[];
}

export const MESSAGE_STATISTICS: Statistics = {
  apiPath: "/api/stats/messages",
  filter: "channel_id",
  listPath: "/console/messages",
  label: texts.messages.activity,
  outcomes: [
    { label: texts.messages.outcomes.sent, tone: "good", fields: ["sent"] },
    { label: texts.messages.outcomes.waiting, tone: "waiting", fields: ["waiting", "unknown"] },
    { label: texts.messages.outcomes.failed, tone: "bad", fields: ["failed"] },
    { label: texts.messages.outcomes.cancelled, tone: "none", fields: ["cancelled"] },
  ],
};

export const EVENT_STATISTICS: Statistics = {
  apiPath: "/api/stats/events",
  filter: "key",
  listPath: "/console/events",
  label: texts.events.activity,
  outcomes: [
    { label: texts.events.outcomes.delivered, tone: "good", fields: ["delivered"] },
    { label: texts.events.outcomes.waiting, tone: "waiting", fields: ["waiting"] },
    { label: texts.events.outcomes.failed, tone: "bad", fields: ["failed"] },
    { label: texts.events.outcomes.skipped, tone: "none", fields: ["skipped"] },
  ],
};

type Outcome = Omit<ChartSeries, "values"> & { fields: readonly string[] };

type StatsRow = { start: string } & Record<string, unknown>;

export interface Figures {
  period: Period;
  /** The beginning of each bar, in milliseconds. */
  starts: readonly number[];
  series: readonly ChartSeries[];
}

const REFRESH_MS = 15_000;

/** Counts what was accepted in a period, by interval and outcome. Undefined until it is loaded. */
export function useFigures(statistics: Statistics, period: Period, filters: Query = {}): Figures | undefined {
  const { apiPath, filter, outcomes } = statistics;
  const { interval, bars } = period;
  const intervalMs = INTERVALS_MS[interval];
  const key = JSON.stringify([apiPath, filters[filter], period.name]);
  const { value, isStale, reload } = useLoaded(key, (signal) => {
    // The last 24 hours are the default, which does not depend on this computer's clock.
    const since =
      interval === "hour" ? undefined : new Date(Date.now() - (bars - 1) * intervalMs).toISOString();
    return call<{ data: StatsRow[]; until: string }>("GET", apiPath, {
      query: { [filter]: filters[filter], interval, since },
      signal,
    });
  });
  usePolling(true, REFRESH_MS, reload);
  if (!value || isStale) return undefined;
  const end = Date.parse(value.until);
  const starts = Array.from({ length: bars }, (_, index) => end - (bars - index) * intervalMs);
  const series = outcomes.map(({ fields, ...outcome }) => ({
    ...outcome,
    values: sumByInterval(value.data, starts, fields),
  }));
  return { period, starts, series };
}

/** Rows of several channels or keys have the same start. */
function sumByInterval(
  rows: readonly StatsRow[],
  starts: readonly number[],
  fields: readonly string[],
): number[] {
  const sums = new Map(starts.map((start) => [start, 0]));
  for (const row of rows) {
    const start = Date.parse(row.start);
    const count = fields.reduce((sum, field) => sum + Number(row[field]), 0);
    sums.set(start, (sums.get(start) ?? 0) + count);
  }
  return starts.map((start) => sums.get(start) ?? 0);
}

interface ActivityProps {
  statistics: Statistics;
  figures: Figures | undefined;
  /** The filters of the list that a click keeps. */
  filters?: Query;
}

/** The figures as stacked bars. A click on a bar shows its rows. */
export function Activity({ statistics, figures, filters = {} }: ActivityProps) {
  if (!figures) return <div class="chart chart-space" />;
  const { period, starts, series } = figures;
  const { before, after, ...kept } = filters;
  function showRows(start: number): void {
    const end = start + INTERVALS_MS[period.interval] - 1;
    const bounds = { since: new Date(start).toISOString(), until: new Date(end).toISOString() };
    navigate(hrefOf(statistics.listPath, { ...kept, ...bounds }));
  }
  return (
    <Chart
      title={period.title}
      label={statistics.label(period.title)}
      interval={period.interval}
      starts={starts}
      series={series}
      onPick={(index) => {
        const start = starts[index];
        if (start !== undefined) showRows(start);
      }}
    />
  );
}

/** The last 24 hours above a list, with the list's filter. */
export const ListActivity = ({ statistics }: { statistics: Statistics }) => (
  <Activity
    statistics={statistics}
    figures={useFigures(statistics, LAST_24_HOURS, query.value)}
    filters={query.value}
  />
);
