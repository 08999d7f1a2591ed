import type { Pair } from "./rounds.ts";

/** A hot path and the baseline it is compared with. */
export interface BenchCase {
  name: string;
  /** Minimum ratio of Herald's requests per second to the baseline's. */
  minRatio: number;
  start(servers: { DATABASE_URL: string; REDIS_URL: string }): Promise<Pair & { stop(): Promise<void> }>;
}
