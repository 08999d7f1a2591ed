import { useEffect, useRef } from "preact/hooks";
import { texts } from "../texts.ts";
import type { ChartData } from "./chart-drawing.ts";

interface ChartProps extends ChartData {
  title: string;
  /** What the chart shows, for screen readers. */
  label: string;
  /** Called with the index of a bar that was clicked. */
  onPick(index: number): void;
}

/** Stacked bars over time. The drawing code is loaded with the first chart. */
export function Chart({ title, label, interval, starts, series, onPick }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const latestPick = useRef(onPick);
  latestPick.current = onPick;
  const data = JSON.stringify([interval, starts, series]);
  useEffect(() => {
    const isGone = new AbortController();
    import("./chart-drawing.ts").then(
      ({ drawChart }) => {
        if (!place.current || isGone.signal.aborted) return;
        drawChart(place.current, {
          interval,
          starts,
          series,
          signal: isGone.signal,
          pick: (i) => latestPick.current(i),
        });
      },
      () => {}, // the figures beside the chart say the same
    );
    return () => isGone.abort();
  }, [data]);
  return (
    <figure class="chart">
      <div class="chart-drawing" ref={place} role="img" aria-label={label} />
      <figcaption>
        <strong>{title}</strong>
        {series.map(({ label, tone, values }) => (
          <span key={label} class={`status ${tone}`}>
            <span class="dot" aria-hidden="true" />
            {texts.chartFigure(
              values.reduce((sum, value) => sum + value, 0),
              label,
            )}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
