import { formatCount } from "../../app/format.ts";
import { Time } from "../../components/time.tsx";
import { overviewTexts } from "../../texts/overview.ts";
import { Activity, type Figures, type Period, type Statistics, useFigures } from "../activity.tsx";

const words = overviewTexts.figures;

interface FiguresPanelProps {
  title: string;
  statistics: Statistics;
  period: Period;
  /** The words for what was accepted and for what succeeded. */
  accepted: string;
  succeeded: string;
  /** When the oldest that still waits was accepted; null when nothing waits, undefined while it is not known. */
  oldestAt: string | null | undefined;
}

/** How many messages or events were accepted in the period, and what became of them. */
export function FiguresPanel({
  title,
  statistics,
  period,
  accepted,
  succeeded,
  oldestAt,
}: FiguresPanelProps) {
  const figures = useFigures(statistics, period);
  return (
    <section class="figures">
      <h2>
        <a href={statistics.listPath}>{title}</a>
      </h2>
      <p class="figure-line">
        <Figure value={figures && formatCount(totalOf(figures))} label={accepted} />
        <Figure {...shareOf(figures, succeeded)} />
        <span class="soft">
          {oldestAt === null && words.nothingWaits}
          {oldestAt && (
            <>
              {words.oldest} <Time at={oldestAt} />
            </>
          )}
        </span>
      </p>
      <Activity statistics={statistics} figures={figures} />
    </section>
  );
}

const Figure = ({ value, label }: { value: string | undefined; label: string }) => (
  <span class="figure">
    <strong>{value ?? "…"}</strong> <span class="soft">{label}</span>
  </span>
);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const totalOf = ({ series }: Figures): number => sum(series.flatMap(({ values }) => values));

const countOf = ({ series }: Figures, tone: "good" | "bad"): number =>
  sum(series.filter((one) => one.tone === tone).flatMap(({ values }) => values));

/** The share of the successes among those with an outcome; what waits has none yet. */
function shareOf(
  figures: Figures | undefined,
  succeeded: string,
): { value: string | undefined; label: string } {
  if (!figures) return { value: undefined, label: succeeded };
  const [good, bad] = [countOf(figures, "good"), countOf(figures, "bad")];
  if (good + bad === 0) return { value: "–", label: words.noShare };
  return { value: `${percentOf(good, good + bad)} %`, label: succeeded };
}

/** Rounded down, so that 100 % means all. */
const percentOf = (part: number, whole: number): string =>
  part === whole ? "100" : (Math.floor((part / whole) * 1_000) / 10).toFixed(1);
