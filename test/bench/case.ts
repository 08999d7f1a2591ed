import type { BenchContext, Condition, PeerName } from "./context.ts";

/** What one contestant did in one round. */
export interface Sample {
  /** `cpu` (microseconds of processor time per item, of all its processes together), `rate` (items per second), `p99` and so on. */
  values: Readonly<Record<string, number>>;
  /** The parts of `cpu` by process: `web`, `dispatcher`, `peer`, `postgres`, `redis`. */
  cpu: Readonly<Record<string, number>>;
}

/** Herald or a peer, started and ready. */
export interface Contestant {
  /** Does one round, and throws unless all of its work was done exactly once. */
  run(): Promise<Sample>;
}

/** Starts a contestant for a kind of work: Herald when no peer is named. The context stops what it starts. */
export type Work = (context: BenchContext, peer?: PeerName) => Promise<Contestant>;

/** One value of the samples that is reported. */
export interface Measure {
  value: string;
  unit: string;
  better: "higher" | "lower";
}

/** A bound of Herald's own value: at most when lower is better, otherwise at least. */
export interface Bound extends Measure {
  limit: number;
}

/** A peer program, or Herald in another condition or with other work. */
export interface Peer {
  /** The least ratio that must be reached; above 1 Herald is better. Without one, the row shows a lesson. */
  target?: number;
  condition?: Condition;
  work?: Work;
}

/** A row of the list of cases. Counts in it are those of a full run. */
export interface BenchCase {
  /** The first part of the names of its results. */
  name: string;
  /** What is measured and what it shows, for the table in docs/benchmarks.md. */
  about: string;
  /** What one item is: `message`, `event` and so on. */
  item: string;
  work: Work;
  condition?: Condition;
  /** The figure that is compared with the peers: by default the processor time per item. */
  measure?: Measure;
  peers?: Partial<Record<PeerName, Peer>> & Readonly<Record<string, Peer>>;
  bounds?: readonly Bound[];
  /** One round without a warm-up, because it takes long. */
  once?: true;
  /** Runs only when it is named, because it takes long. */
  onlyWhenNamed?: true;
}
