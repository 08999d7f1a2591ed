import { type Measurement, runLoad, type Target } from "./load.ts";

/** Herald and the hand-written baseline. */
export interface Pair {
  ours: Target;
  plain: Target;
}

export interface Comparison {
  ours: Measurement;
  plain: Measurement;
  /** Median over the rounds of Herald's requests per second divided by the baseline's. */
  ratio: number;
}

interface ComparisonPlan {
  connections: number;
  rounds: number;
  durationMs: number;
  say(line: string): void;
}

const median = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] as number;

const medians = (measures: readonly Measurement[]): Measurement => ({
  perSecond: median(measures.map(({ perSecond }) => perSecond)),
  p50: median(measures.map(({ p50 }) => p50)),
  p99: median(measures.map(({ p99 }) => p99)),
});

export const formatMeasurement = ({ perSecond, p50, p99 }: Measurement): string =>
  `${Math.round(perSecond)}/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;

/** Measures both in alternating order, so that a temporary slowdown of the machine affects both. */
export async function compare({ ours, plain }: Pair, plan: ComparisonPlan): Promise<Comparison> {
  for (const target of [ours, plain]) await runLoad(target, plan);
  const measured: { ours: Measurement; plain: Measurement }[] = [];
  for (let round = 1; round <= plan.rounds; round++) {
    const first = round % 2 === 0 ? ours : plain;
    const one = await runLoad(first, plan);
    const other = await runLoad(first === ours ? plain : ours, plan);
    const pair = first === ours ? { ours: one, plain: other } : { ours: other, plain: one };
    plan.say(
      `  round ${round}: ${ours.name} ${formatMeasurement(pair.ours)}; ${plain.name} ${formatMeasurement(pair.plain)}`,
    );
    measured.push(pair);
  }
  return {
    ours: medians(measured.map((pair) => pair.ours)),
    plain: medians(measured.map((pair) => pair.plain)),
    ratio: median(measured.map((pair) => pair.ours.perSecond / pair.plain.perSecond)),
  };
}
