import { HOUR, SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";
import { counted, isOver, isSick, newTally, restOf, type Tally } from "./failure-window.ts";
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
  | { state: "open"; remaining: number; rest: number }
  | { state: "half_open" };

const CLOSED: BreakerState = { state: "closed" };

/** Longer than a call may last, with what is fetched for it: who has died over it holds up the next one no longer. */
const PROBE = 30 * SECOND;
/** By then every dispatcher has looked. */
const KNOWN_TO_ALL_AFTER = 2 * SECOND;
const FORGOTTEN_AFTER = 1 * HOUR;

/** Of both lanes: a client's backend is the same for either. */
const tableKey = (partition: number) => `${streamKey("events", partition)}:breakers`;

/** How many destinations are left alone right now, for those who only look. Throws where Redis is away. */
export async function countOpen(redis: RedisClient, partition: number): Promise<number> {
  const table = await redis.hgetall(tableKey(partition));
  const breakers = Object.values(table).map((text): Breaker => JSON.parse(text));
  return breakers.filter(({ until }) => until > Date.now()).length;
}

interface Options {
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
  { log, now = Date.now }: Options = {},
) {
  const known = new Map<string, Breaker>();
  /** Whom we try ourselves, and until when nobody else here does. */
  const trials = new Map<string, number>();
  const tallies = new Map<string, Tally & { origin: string }>();
  const tagOf = (clientId: string) => streamKey("events", partitionOf(clientId, partitions));
  const hashOf = (clientId: string) => tableKey(partitionOf(clientId, partitions));
  const probeOf = (clientId: string) => `${tagOf(clientId)}:probe:${clientId}`;

  const set = async (clientId: string, breaker: Breaker) => {
    const { origin, until, failedProbes: failed_probes } = breaker;
    log?.warn("breaker.opened", { client: clientId, origin, failed_probes, ms: until - now() });
    known.set(clientId, breaker);
    tallies.delete(clientId);
    trials.delete(clientId);
    await redis.hset(hashOf(clientId), clientId, JSON.stringify(breaker));
    // Not given up at once: to those who have not looked yet it would seem to be their turn.
    await redis.pexpire(probeOf(clientId), KNOWN_TO_ALL_AFTER);
  };
  const close = async (clientId: string) => {
    log?.info("breaker.closed", { client: clientId, origin: known.get(clientId)?.origin });
    known.delete(clientId);
    tallies.delete(clientId);
    trials.delete(clientId);
    await redis.hdel(hashOf(clientId), clientId);
    await redis.del(probeOf(clientId));
  };
  const breakerOf = ({ clientId, origin }: Destination): Breaker | undefined => {
    const breaker = known.get(clientId);
    return breaker?.origin === origin ? breaker : undefined;
  };
  const stateOf = (breaker: Breaker | undefined): BreakerState => {
    if (!breaker) return CLOSED;
    const rest = restOf(breaker.failedProbes);
    const remaining = Math.min(breaker.until - now(), rest); // whoever set it may have another clock
    return remaining > 0 ? { state: "open", remaining, rest } : { state: "half_open" };
  };

  function count({ clientId, origin }: Destination, isBad: boolean): Tally {
    const last = tallies.get(clientId);
    const tally = counted(last?.origin === origin ? last : newTally(now()), isBad, now());
    tallies.set(clientId, { ...tally, origin });
    return tally;
  }

  /** What was learnt elsewhere. */
  function learn(partition: number, table: Record<string, string>): void {
    const ours = [...known.keys()].filter((clientId) => partitionOf(clientId, partitions) === partition);
    for (const clientId of ours) if (!table[clientId]) known.delete(clientId);
    for (const [clientId, text] of Object.entries(table)) known.set(clientId, JSON.parse(text));
  }

  return {
    stateOf: (destination: Destination): BreakerState => stateOf(breakerOf(destination)),
    /** The same where nobody has looked yet where the client's events go. */
    lastStateOf: (clientId: string): BreakerState => stateOf(known.get(clientId)),
    isUnhealthy: (clientId: string): boolean =>
      known.has(clientId) || (tallies.get(clientId)?.inARow ?? 0) > 0,
    /** Whether the caller is the one that may try. */
    async mayProbe(clientId: string): Promise<boolean> {
      if ((trials.get(clientId) ?? 0) > now()) return false;
      trials.set(clientId, now() + PROBE);
      const won = await redis.set(probeOf(clientId), "1", "PX", PROBE, "NX").catch(() => "OK");
      if (won !== "OK") trials.delete(clientId);
      return won === "OK";
    },
    /** How a call went. Never throws: without Redis the others find out by themselves. */
    async note(
      destination: Destination,
      { isBad, isProbe }: { isBad: boolean; isProbe: boolean },
    ): Promise<void> {
      const { clientId, origin } = destination;
      const breaker = breakerOf(destination);
      const open = (failedProbes: number) =>
        set(clientId, { origin, until: now() + restOf(failedProbes), failedProbes });
      const react = async () => {
        if (breaker && !isProbe) return; // began before it was opened
        if (breaker) return isBad ? open(breaker.failedProbes + 1) : close(clientId);
        // One of where its events went before would keep this client on trial, and nobody goes there any more.
        if (known.has(clientId)) await close(clientId).catch(() => {});
        if (isSick(count(destination, isBad))) await open(0);
      };
      await react().catch(() => {});
    },
    /** Looks at what the others have found. */
    async look(): Promise<void> {
      for (let partition = 0; partition < partitions; partition++) {
        const table = await redis.hgetall(tableKey(partition));
        learn(partition, table);
      }
      const longAgo = now() - FORGOTTEN_AFTER;
      for (const [clientId, { until }] of known) if (until < longAgo) await close(clientId);
      for (const [clientId, tally] of tallies) if (isOver(tally, now())) tallies.delete(clientId);
    },
    counts(): Record<"open" | "half_open", number> {
      const states = [...known.values()].map((breaker) => stateOf(breaker).state);
      const of = (word: string) => states.filter((state) => state === word).length;
      return { open: of("open"), half_open: of("half_open") };
    },
  };
}
