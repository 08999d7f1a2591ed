import type { BenchCase, Contestant, Measure, Sample, Variant } from "./case.ts";

/** The samples of each contestant, in the order of the rounds. */
export type Samples = ReadonlyMap<Contestant, readonly Sample[]>;

/** One row of the table and of dist/bench.json. */
export interface BenchResult {
  /** `case/variant/peer`; the last part is `-` without a peer. */
  name: string;
  /** Medians over the rounds. */
  herald: number;
  peer: number | null;
  /** Median over the rounds; above 1 means that Herald is better. */
  ratio: number | null;
  /** Lowest and highest ratio of a round; without a peer, of Herald's value. */
  spread: readonly [number, number];
  unit: string;
  /** The least ratio; without a peer, the bound of Herald's value. Null when there is only a comparison. */
  target: number | null;
  reached: boolean | null;
  better: "higher" | "lower";
  /** Microseconds per item, by process. */
  cpu: { herald: Record<string, number>; peer: Record<string, number> | null };
  rounds: number;
}

const sorted = (values: readonly number[]) => [...values].sort((one, other) => one - other);

export function median(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const [low, high] = [Math.floor(middle), Math.ceil(middle)];
  const ordered = sorted(values);
  return low === high ? (ordered[low] as number) : ((ordered[low] as number) + (ordered[high] as number)) / 2;
}

const rangeOf = (values: readonly number[]): [number, number] => [Math.min(...values), Math.max(...values)];

/** Above 1 when Herald is better. An infinite time of Herald is the worst ratio, whatever the peer needs. */
export function ratioOf(better: Measure["better"], herald: number, peer: number): number {
  if (better === "higher") return herald / peer;
  return Number.isFinite(herald) ? peer / herald : 0;
}

/** The processes that belong to the measure. */
function medianCpu(samples: readonly Sample[], { cpu: prefix = "" }: Measure): Record<string, number> {
  const names = Object.keys(samples[0]?.cpu ?? {}).filter((name) => name.startsWith(prefix));
  return Object.fromEntries(
    names.map((name) => [name.slice(prefix.length), median(samples.map(({ cpu }) => cpu[name] ?? 0))]),
  );
}

const valuesOf = (samples: readonly Sample[], { value }: Measure): number[] =>
  samples.map(({ values }) => {
    const found = values[value];
    if (found === undefined || Number.isNaN(found)) throw new Error(`a sample has no ${value}`);
    return found;
  });

/** Compares Herald with one peer. */
function compare(
  name: string,
  measure: Measure,
  herald: readonly Sample[],
  peer: readonly Sample[],
  target?: number,
) {
  const [ours, theirs] = [valuesOf(herald, measure), valuesOf(peer, measure)];
  const ratios = ours.map((value, round) => ratioOf(measure.better, value, theirs[round] as number));
  const ratio = median(ratios);
  return {
    name,
    herald: median(ours),
    peer: median(theirs),
    ratio,
    spread: rangeOf(ratios),
    unit: measure.unit,
    target: target ?? null,
    reached: target === undefined ? null : ratio >= target,
    better: measure.better,
    cpu: { herald: medianCpu(herald, measure), peer: medianCpu(peer, measure) },
    rounds: ours.length,
  };
}

/** Compares Herald's value with its bound. */
function bound(name: string, measure: Measure, herald: readonly Sample[]): BenchResult {
  const values = valuesOf(herald, measure);
  const value = median(values);
  const { limit, better, unit } = measure;
  const isReached = limit !== undefined && (better === "lower" ? value <= limit : value >= limit);
  return {
    name,
    herald: value,
    peer: null,
    ratio: null,
    spread: rangeOf(values),
    unit,
    target: limit ?? null,
    reached: limit === undefined ? null : isReached,
    better,
    cpu: { herald: medianCpu(herald, measure), peer: null },
    rounds: values.length,
  };
}

/** Makes the rows of a variant from the samples; the first contestant is Herald. */
export function resultsOf({ name }: BenchCase, variant: Variant, samples: Samples): BenchResult[] {
  const [[, herald] = [undefined, []], ...peers] = samples;
  return variant.measures.flatMap((measure) => {
    const suffix = measure.suffix ? `-${measure.suffix}` : "";
    const prefix = `${name}/${variant.name}${suffix}`;
    const compared = peers.filter(([peer]) => measure.peers?.includes(peer.name) ?? true);
    const rows: BenchResult[] = compared.map(([peer, theirs]) =>
      compare(`${prefix}/${peer.name}`, measure, herald, theirs, measure.targets?.[peer.name]),
    );
    const needsOwnRow = peers.length === 0 || measure.limit !== undefined;
    return needsOwnRow ? [...rows, bound(`${prefix}/-`, measure, herald)] : rows;
  });
}
