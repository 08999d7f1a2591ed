import uPlot from "uplot";
import type { Tone } from "./status.tsx";

export interface ChartSeries {
  label: string;
  tone: Tone;
  /** One value for each bar. */
  values: readonly number[];
}

export interface ChartData {
  /** Bars of days are those of UTC. */
  interval: "hour" | "day";
  /** The beginning of each bar, in milliseconds. */
  starts: readonly number[];
  series: readonly ChartSeries[];
}

interface Drawing extends ChartData {
  pick(index: number): void;
  /** Removes the chart when it aborts. */
  signal: AbortSignal;
}

const HEIGHT_PX = 96;
const MS_PER_SECOND = 1_000;

/** Draws stacked bars, and draws them again when the width or the colour scheme changes. */
export function drawChart(place: HTMLElement, { pick, signal, ...data }: Drawing): void {
  const { starts, series } = data;
  let chart: uPlot | undefined;
  const draw = () => {
    chart?.destroy();
    chart = new uPlot(optionsOf(place, data), [secondsOf(starts), ...stack(series)], place);
    chart.over.addEventListener("click", ({ offsetX }) => {
      const time = (chart?.posToVal(offsetX, "x") ?? 0) * MS_PER_SECOND;
      const index = starts.findLastIndex((start) => start <= time);
      if (index >= 0) pick(index);
    });
  };
  const resized = new ResizeObserver(() => {
    if (chart && place.clientWidth > 0) chart.setSize({ width: place.clientWidth, height: HEIGHT_PX });
  });
  draw();
  resized.observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal });
  signal.addEventListener("abort", () => {
    resized.disconnect();
    chart?.destroy();
  });
}

const secondsOf = (starts: readonly number[]) => starts.map((start) => start / MS_PER_SECOND);

/**
 * The tops of the bars: those of the last series are at the top of the stack, and are drawn first. A series without a value
 * has no bar, which would show at the edges of the one that covers it.
 */
function stack(series: readonly ChartSeries[]): (number | null)[][] {
  const sums: number[] = [];
  const tops = series.map(({ values }) =>
    values.map((value, index) => {
      sums[index] = (sums[index] ?? 0) + value;
      return value === 0 ? null : sums[index];
    }),
  );
  return tops.reverse();
}

function optionsOf(place: HTMLElement, { interval, starts, series }: ChartData): uPlot.Options {
  const seconds = secondsOf(starts);
  const first = seconds[0] ?? 0;
  const last = (seconds.at(-1) ?? 0) + ((seconds[1] ?? first) - first); // the last bar begins there
  const styles = getComputedStyle(place);
  const colour = (name: string) => styles.getPropertyValue(name).trim();
  const bars = uPlot.paths.bars?.({ size: [0.8, 40], align: 1 });
  const axis = { stroke: colour("--soft"), font: `12px ${colour("--text")}`, ticks: { show: false } };
  const fill = (tone: string) => colour(tone === "none" ? "--edge" : `--${tone}`);
  return {
    ...(interval === "day"
      ? { tzDate: (seconds) => uPlot.tzDate(new Date(seconds * MS_PER_SECOND), "Etc/UTC") }
      : {}),
    width: place.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    padding: [8, 20, 0, 0],
    scales: { x: { range: () => [first, last] }, y: { range: (_, __, max) => [0, Math.max(max, 1)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        space: 72,
        values: (_, times) => times.map(LABELS[interval]),
      },
      { ...axis, grid: { stroke: colour("--line"), width: 1 }, size: 40, space: 24, incrs: WHOLE_STEPS },
    ],
    series: [
      {},
      ...[...series].reverse().map(({ label, tone }) => ({
        label,
        fill: fill(tone),
        width: 0,
        ...(bars ? { paths: bars } : {}),
        points: { show: false },
      })),
    ],
  };
}

/** `18:00`, in the reader's zone. */
const hourOf = (seconds: number): string =>
  new Date(seconds * MS_PER_SECOND).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

/** `18 Nov`, in UTC. */
const dayOf = (seconds: number): string =>
  new Date(seconds * MS_PER_SECOND).toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    timeZone: "UTC",
  });

const LABELS = { hour: hourOf, day: dayOf };

/** Counts have no fractions. */
const WHOLE_STEPS = [1, 2, 5]
  .flatMap((step) => [0, 1, 2, 3, 4, 5, 6].map((power) => step * 10 ** power))
  .sort((a, b) => a - b);
