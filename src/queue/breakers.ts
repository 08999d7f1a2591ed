import { PROBE_LEASE_MS } from "../runtime/deadlines.ts";
import { HOUR, SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";
import {
  countCall,
  type FailureCounts,
  isExpired,
  newFailureCounts,
  openDuration,
  shouldOpen,
} from "./failure-window.ts";
import type { RedisClient } from "./redis.ts";
import { partitionOf, streamKey } from "./streams.ts";

/** Where a client's events go: another origin is another destination. */
export interface Destination {
  clientId: string;
  origin: string;
}

/** A destination that is left alone. */
interface Breaker {
  origin: string;
  /** When a single call may try it again. */
  until: number;
  failedProbes: number;
}

/** closed: go on. open: not for `remaining` milliseconds. half_open: one call alone may try. */
type BreakerState =
  | { state: "closed" }
  | { state: "open"; remaining: number; duration: number }
  | { state: "half_open" };

const CLOSED: BreakerState = { state: "closed" };

/** By then every dispatcher has looked. */
const PROPAGATION_MS = 2 * SECOND;
const IDLE_BREAKER_TTL_MS = 1 * HOUR;

/** Of both lanes: a client's backend is the same for either. */
const tableKey = (partition: number) => `${streamKey("events", partition)}:breakers`;

/** How many destinations are left alone right now, for those who only look. Throws where Redis is away. */
export async function countOpenBreakers(redis: RedisClient, partition: number): Promise<number> {
  const table = await redis.hgetall(tableKey(partition));
  const breakers = Object.values(table).map((text): Breaker => JSON.parse(text));
  return breakers.filter(({ until }) => until > Date.now()).length;
}

interface BreakerOptions {
  log?: Log;
  now?: () => number;
}

export type Breakers = ReturnType<typeof createBreakers>;

/**
 * Which destinations are left alone, known to every dispatcher: each counts for itself, and whoever finds one sick tells the
 * others through Redis, which are to look once a second. Without Redis each goes by what it has found itself.
 */
export function createBreakers(
  redis: RedisClient,
  partitions: number,
  { log, now = Date.now }: BreakerOptions = {},
) {
  const breakersByClient = new Map<string, Breaker>();
  /** Whom we try ourselves, and until when nobody else here does. */
  const probesUntil = new Map<string, number>();
  const countsByClient = new Map<string, FailureCounts & { origin: string }>();
  const tagOf = (clientId: string) => streamKey("events", partitionOf(clientId, partitions));
  const tableKeyOf = (clientId: string) => tableKey(partitionOf(clientId, partitions));
  const probeKeyOf = (clientId: string) => `${tagOf(clientId)}:probe:${clientId}`;

  const storeOpen = async (clientId: string, breaker: Breaker) => {
    const { origin, until, failedProbes: failed_probes } = breaker;
    log?.warn("breaker.opened", { client: clientId, origin, failed_probes, ms: until - now() });
    breakersByClient.set(clientId, breaker);
    countsByClient.delete(clientId);
    probesUntil.delete(clientId);
    await redis.hset(tableKeyOf(clientId), clientId, JSON.stringify(breaker));
    // Not given up at once: to those who have not looked yet it would seem to be their turn.
    await redis.pexpire(probeKeyOf(clientId), PROPAGATION_MS);
  };
  const close = async (clientId: string) => {
    log?.info("breaker.closed", { client: clientId, origin: breakersByClient.get(clientId)?.origin });
    breakersByClient.delete(clientId);
    countsByClient.delete(clientId);
    probesUntil.delete(clientId);
    await redis.hdel(tableKeyOf(clientId), clientId);
    await redis.del(probeKeyOf(clientId));
  };
  const breakerOf = ({ clientId, origin }: Destination): Breaker | undefined => {
    const breaker = breakersByClient.get(clientId);
    return breaker?.origin === origin ? breaker : undefined;
  };
  const stateOf = (breaker: Breaker | undefined): BreakerState => {
    if (!breaker) return CLOSED;
    const duration = openDuration(breaker.failedProbes);
    const remaining = Math.min(breaker.until - now(), duration); // whoever set it may have another clock
    return remaining > 0 ? { state: "open", remaining, duration } : { state: "half_open" };
  };

  function recordCall({ clientId, origin }: Destination, isFailure: boolean): FailureCounts {
    const last = countsByClient.get(clientId);
    const counts = countCall(last?.origin === origin ? last : newFailureCounts(now()), isFailure, now());
    countsByClient.set(clientId, { ...counts, origin });
    return counts;
  }

  /** What was learnt elsewhere. */
  function mergeTable(partition: number, table: Record<string, string>): void {
    const knownClients = [...breakersByClient.keys()].filter(
      (clientId) => partitionOf(clientId, partitions) === partition,
    );
    for (const clientId of knownClients) if (!table[clientId]) breakersByClient.delete(clientId);
    for (const [clientId, text] of Object.entries(table)) breakersByClient.set(clientId, JSON.parse(text));
  }

  return {
    stateOf: (destination: Destination): BreakerState => stateOf(breakerOf(destination)),
    /** The same where nobody has looked yet where the client's events go. */
    stateOfClient: (clientId: string): BreakerState => stateOf(breakersByClient.get(clientId)),
    isUnhealthy: (clientId: string): boolean =>
      breakersByClient.has(clientId) || (countsByClient.get(clientId)?.consecutiveFailures ?? 0) > 0,
    /** Whether the caller is the one that may try. */
    async tryAcquireProbe(clientId: string): Promise<boolean> {
      if ((probesUntil.get(clientId) ?? 0) > now()) return false;
      probesUntil.set(clientId, now() + PROBE_LEASE_MS);
      const answer = await redis.set(probeKeyOf(clientId), "1", "PX", PROBE_LEASE_MS, "NX").catch(() => "OK");
      if (answer !== "OK") probesUntil.delete(clientId);
      return answer === "OK";
    },
    /** How a call went. Never throws: without Redis the others find out by themselves. */
    async recordResult(
      destination: Destination,
      { isFailure, isProbe }: { isFailure: boolean; isProbe: boolean },
    ): Promise<void> {
      const { clientId, origin } = destination;
      const breaker = breakerOf(destination);
      const open = (failedProbes: number) =>
        storeOpen(clientId, { origin, until: now() + openDuration(failedProbes), failedProbes });
      const applyResult = async () => {
        if (breaker && !isProbe) return; // began before it was opened
        if (breaker) return isFailure ? open(breaker.failedProbes + 1) : close(clientId);
        // One of where its events went before would keep this client on trial, and nobody goes there any more.
        if (breakersByClient.has(clientId)) await close(clientId).catch(() => {});
        if (shouldOpen(recordCall(destination, isFailure))) await open(0);
      };
      await applyResult().catch(() => {});
    },
    /** Looks at what the others have found. */
    async refresh(): Promise<void> {
      for (let partition = 0; partition < partitions; partition++) {
        const table = await redis.hgetall(tableKey(partition));
        mergeTable(partition, table);
      }
      const cutoff = now() - IDLE_BREAKER_TTL_MS;
      for (const [clientId, { until }] of breakersByClient) if (until < cutoff) await close(clientId);
      for (const [clientId, counts] of countsByClient)
        if (isExpired(counts, now())) countsByClient.delete(clientId);
    },
    counts(): Record<"open" | "half_open", number> {
      const states = [...breakersByClient.values()].map((breaker) => stateOf(breaker).state);
      const countOf = (word: string) => states.filter((state) => state === word).length;
      return { open: countOf("open"), half_open: countOf("half_open") };
    },
  };
}
