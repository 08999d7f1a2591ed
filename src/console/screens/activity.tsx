import { call } from "../app/api.ts";
import { useLoaded, usePolling } from "../app/loading.ts";
import { hrefOf, navigate, path, query } from "../app/router.ts";
import { Chart } from "../components/chart.tsx";
import type { ChartSeries } from "../components/chart-drawing.ts";
import { texts } from "../texts.ts";

type Outcome = Omit<ChartSeries, "values"> & { fields: readonly string[] };

type StatsRow = { start: string } & Record<string, unknown>;

interface ActivityProps {
  label: string;
  apiPath: string;
  /** The filters of the list that the statistics have too. */
  filters: readonly string[];
  /** From the bottom of the bars to the top. */
  outcomes: readonly Outcome[];
}

const HOUR_MS = 3_600_000;
const HOURS = 24;
const REFRESH_MS = 60_000;

/** The last 24 hours by hour and outcome. A click on an hour shows its rows. */
export function Activity({ label, apiPath, filters, outcomes }: ActivityProps) {
  const parameters = Object.fromEntries(filters.map((name) => [name, query.value[name]]));
  const { value, reload } = useLoaded(JSON.stringify([apiPath, parameters]), (signal) =>
    call<{ data: StatsRow[]; until: string }>("GET", apiPath, {
      query: { ...parameters, interval: "hour" },
      signal,
    }),
  );
  usePolling(true, REFRESH_MS, reload);
  if (!value) return <div class="chart chart-space" />;
  const end = Math.ceil(Date.parse(value.until) / HOUR_MS) * HOUR_MS;
  const starts = Array.from({ length: HOURS }, (_, index) => end - (HOURS - index) * HOUR_MS);
  const series = outcomes.map(({ fields, ...outcome }) => ({
    ...outcome,
    values: sumByHour(value.data, starts, fields),
  }));
  return (
    <Chart
      title={texts.last24Hours}
      label={label}
      starts={starts}
      series={series}
      onPick={(index) => {
        const start = starts[index];
        if (start !== undefined) showHour(start);
      }}
    />
  );
}

/** Rows of several channels or keys have the same start. */
const sumByHour = (
  rows: readonly StatsRow[],
  starts: readonly number[],
  fields: readonly string[],
): number[] =>
  starts.map((start) =>
    rows
      .filter((row) => Date.parse(row.start) === start)
      .reduce((sum, row) => sum + fields.reduce((inner, field) => inner + Number(row[field]), 0), 0),
  );

function showHour(start: number): void {
  const { before, after, ...others } = query.value;
  const period = {
    since: new Date(start).toISOString(),
    until: new Date(start + HOUR_MS - 1).toISOString(),
  };
  navigate(hrefOf(path.value, { ...others, ...period }));
}
