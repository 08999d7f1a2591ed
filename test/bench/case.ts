import type { Pair } from "./rounds.ts";

/** A hot path and what it is measured against. */
export interface BenchCase {
  name: string;
  /** How many times as many requests a second ours must do at least. */
  minRatio: number;
  start(servers: { DATABASE_URL: string; REDIS_URL: string }): Promise<Pair & { stop(): Promise<void> }>;
}
