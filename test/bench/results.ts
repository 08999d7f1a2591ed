import type { BenchCase, Bound, Measure, Sample } from "./case.ts";

/** The samples of Herald and of each peer, in the order of the rounds. */
export interface Samples {
  herald: readonly Sample[];
  peers: Readonly<Record<string, readonly Sample[]>>;
}

/** The medians of one contestant over its rounds. */
interface Medians {
  /** The measured value. */
  value: number;
  /** Items per second. */
  rate: number | null;
  /** Microseconds of processor time per item, by process. */
  cpu: Record<string, number>;
}

/** One row of the table and of dist/bench.json. */
export interface BenchResult {
  /** `case/peer`; the last part is `-` for a bound. */
  name: string;
  /** What the values are: `p99`, `cpu` and so on, and their unit. */
  value: string;
  unit: string;
  better: "higher" | "lower";
  herald: Medians;
  peer: Medians | null;
  /** Median over the rounds; above 1 means that Herald is better. */
  ratio: number | null;
  /** Lowest and highest ratio of a round; for a bound, of Herald's value. */
  spread: readonly [number, number];
  /** The least ratio; for a bound, the limit of Herald's value. Null when the row only compares. */
  target: number | null;
  reached: boolean | null;
  rounds: number;
}

export function median(values: readonly number[]): number {
  const ordered = [...values].sort((one, other) => one - other);
  const middle = (values.length - 1) / 2;
  const [low, high] = [ordered[Math.floor(middle)] as number, ordered[Math.ceil(middle)] as number];
  return (low + high) / 2;
}

const rangeOf = (values: readonly number[]): [number, number] => [Math.min(...values), Math.max(...values)];

/** Above 1 when Herald is better. An infinite time of Herald is the worst ratio, whatever the peer needs. */
export function ratioOf(better: Measure["better"], herald: number, peer: number): number {
  if (better === "higher") return herald / peer;
  return Number.isFinite(herald) ? peer / herald : 0;
}

const valuesOf = (samples: readonly Sample[], { value }: Measure): number[] =>
  samples.map(({ values }) => {
    const found = values[value];
    if (found === undefined || Number.isNaN(found)) throw new Error(`a sample has no ${value}`);
    return found;
  });

function mediansOf(samples: readonly Sample[], measure: Measure): Medians {
  const rates = samples.flatMap(({ values: { rate } }) => (rate === undefined ? [] : [rate]));
  const names = Object.keys(samples[0]?.cpu ?? {});
  return {
    value: median(valuesOf(samples, measure)),
    rate: rates.length > 0 ? median(rates) : null,
    cpu: Object.fromEntries(names.map((name) => [name, median(samples.map(({ cpu }) => cpu[name] ?? 0))])),
  };
}

/** Processor time is what Herald costs, also while other programs use the machine. */
const cpuPerItem = (item: string): Measure => ({ value: "cpu", unit: `µs per ${item}`, better: "lower" });

/** Makes the rows of a case: one for each peer and one for each bound. */
export function resultsOf(benchCase: BenchCase, { herald, peers }: Samples): BenchResult[] {
  const { name, item, measure = cpuPerItem(item), bounds = [] } = benchCase;
  const compared = Object.entries(peers).map(([peer, samples]) =>
    compare(`${name}/${peer}`, measure, { herald, samples, target: benchCase.peers?.[peer]?.target }),
  );
  return [...compared, ...bounds.map((bound) => checkBound(`${name}/-`, bound, herald))];
}

interface Comparison {
  herald: readonly Sample[];
  samples: readonly Sample[];
  target: number | undefined;
}

function compare(name: string, measure: Measure, { herald, samples, target }: Comparison): BenchResult {
  const theirs = valuesOf(samples, measure);
  const ratios = valuesOf(herald, measure).map((value, round) =>
    ratioOf(measure.better, value, theirs[round] as number),
  );
  const ratio = median(ratios);
  return {
    name,
    ...measure,
    herald: mediansOf(herald, measure),
    peer: mediansOf(samples, measure),
    ratio,
    spread: rangeOf(ratios),
    target: target ?? null,
    reached: target === undefined ? null : ratio >= target,
    rounds: ratios.length,
  };
}

function checkBound(name: string, { limit, ...measure }: Bound, herald: readonly Sample[]): BenchResult {
  const medians = mediansOf(herald, measure);
  const { value } = medians;
  return {
    name,
    ...measure,
    herald: medians,
    peer: null,
    ratio: null,
    spread: rangeOf(valuesOf(herald, measure)),
    target: limit,
    reached: measure.better === "lower" ? value <= limit : value >= limit,
    rounds: herald.length,
  };
}
