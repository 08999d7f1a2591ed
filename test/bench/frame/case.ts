import type { BenchContext } from "./context.ts";

/** What one contestant did in one round. */
export interface Sample {
  /** Measured values, which the variant's measures name: `rate`, `p50`, `p99` and so on. */
  values: Readonly<Record<string, number>>;
  /** Microseconds of processor time per item, by process: `web`, `dispatcher`, `postgres`, `redis`, `peer`, `load`. */
  cpu: Readonly<Record<string, number>>;
}

/** Herald or a peer. What it starts is stopped by the context. */
export interface Contestant {
  /** `herald`, or the peer's part of the result's name. */
  name: string;
  /** Does one round and verifies that the work was done. */
  run(): Promise<Sample>;
}

/** One value that is reported. Each peer makes a row; a limit, or the lack of any peer, makes a row without a peer. */
export interface Measure {
  /** Name of the value in the sample. */
  value: string;
  /** Follows the variant's name in the row's name, after a hyphen; the main measure has none. */
  suffix?: string;
  unit: string;
  better: "higher" | "lower";
  /** The peers that get a row; all by default. */
  peers?: readonly string[];
  /** The least ratio that must be reached beside each peer. Peers that are not listed have no target. */
  targets?: Readonly<Record<string, number>>;
  /** The beginning of the names of its processes in the sample, when a sample has the times of several measures. */
  cpu?: string;
  /** The bound of Herald's own value: at most when lower is better, otherwise at least. */
  limit?: number;
}

export interface Variant {
  name: string;
  measures: readonly Measure[];
  /** False when another variant of the case starts the same programs, so that the smoke test can skip this one. */
  isInSmokeTest: boolean;
  /** Measured in a single round without a warm-up, because it takes long. */
  once?: true;
  /** Starts the contestants, Herald first. The database and the Redis database of the context are new. */
  start(context: BenchContext): Promise<readonly Contestant[]>;
}

export interface BenchCase {
  /** The first part of the names of its results. */
  name: string;
  variants: readonly Variant[];
  /** Runs only when it is named, because it takes long. */
  onlyWhenNamed?: true;
}
