import type { Pair } from "./rounds.ts";
import { compare, formatMeasurement } from "./rounds.ts";

export type ServerUrls = { DATABASE_URL: string; REDIS_URL: string };

export type Say = (line: string) => void;

/** A path that is measured beside a hand-written baseline. */
export interface BenchCase {
  name: string;
  /** Measures, prints and returns whether the result is good enough. */
  run(servers: ServerUrls, say: Say): Promise<boolean>;
}

interface ThroughputCase {
  name: string;
  /** Minimum ratio of Herald's requests per second to the baseline's. */
  minRatio: number;
  start(servers: ServerUrls): Promise<Pair & { stop(): Promise<void> }>;
}

const PLAN = { connections: 64, rounds: 5, durationMs: 4_000 };

/** Compares requests per second. */
export const throughputCase = ({ name, minRatio, start }: ThroughputCase): BenchCase => ({
  name: `${name}: ${PLAN.connections} concurrent connections`,
  async run(servers, say) {
    const { stop, ...pair } = await start(servers);
    try {
      const { ours, plain, ratio } = await compare(pair, { ...PLAN, say });
      const isFastEnough = ratio >= minRatio && ours.p99 <= plain.p99;
      say(`  ${pair.ours.name}: ${formatMeasurement(ours)}; ${pair.plain.name}: ${formatMeasurement(plain)}`);
      say(
        `  ${isFastEnough ? "ok" : "TOO SLOW"}: ${ratio.toFixed(2)} times the baseline's rate, required ${minRatio}`,
      );
      return isFastEnough;
    } finally {
      await stop();
    }
  },
});
