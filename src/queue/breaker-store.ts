import { PROBE_LEASE_MS } from "../runtime/deadlines.ts";
import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";
import { partitionOf, streamKey } from "./streams.ts";

/** A destination that is left alone. */
export interface Breaker {
  origin: string;
  /** When a single call may try it again. */
  until: number;
  failedProbes: number;
}

/** By then every dispatcher has looked. */
const PROPAGATION_MS = 2 * SECOND;

/** Of both lanes: a client's backend is the same for either. */
const tableKey = (partition: number) => `${streamKey("events", partition)}:breakers`;

/** How many destinations are left alone right now, for those who only look. Throws where Redis is away. */
export async function countOpenBreakers(redis: RedisClient, partition: number): Promise<number> {
  const breakers = await readTable(redis, partition);
  return [...breakers.values()].filter(({ until }) => until > Date.now()).length;
}

/** The breakers of one partition by client. */
async function readTable(redis: RedisClient, partition: number): Promise<Map<string, Breaker>> {
  const table = await redis.hgetall(tableKey(partition));
  return new Map(Object.entries(table).map(([clientId, text]) => [clientId, JSON.parse(text)]));
}

/** What the dispatchers tell each other about breakers, in Redis. Every method but `tryAcquireProbe` throws where it is away. */
export function createBreakerStore(redis: RedisClient, partitions: number) {
  const partitionFor = (clientId: string) => partitionOf(clientId, partitions);
  const tableKeyOf = (clientId: string) => tableKey(partitionFor(clientId));
  const probeKeyOf = (clientId: string) => `${streamKey("events", partitionFor(clientId))}:probe:${clientId}`;
  return {
    async save(clientId: string, breaker: Breaker): Promise<void> {
      await redis.hset(tableKeyOf(clientId), clientId, JSON.stringify(breaker));
      // Not given up at once: to those who have not looked yet it would seem to be their turn.
      await redis.pexpire(probeKeyOf(clientId), PROPAGATION_MS);
    },
    async remove(clientId: string): Promise<void> {
      await redis.hdel(tableKeyOf(clientId), clientId);
      await redis.del(probeKeyOf(clientId));
    },
    /** Whether no other dispatcher tries this client's destination. True without Redis: each then decides for itself. */
    async tryAcquireProbe(clientId: string): Promise<boolean> {
      const answer = await redis.set(probeKeyOf(clientId), "1", "PX", PROBE_LEASE_MS, "NX").catch(() => "OK");
      return answer === "OK";
    },
    /** Brings `known` up to date, one partition after the other. */
    async refresh(known: Map<string, Breaker>): Promise<void> {
      for (let partition = 0; partition < partitions; partition++) {
        const stored = await readTable(redis, partition);
        for (const clientId of known.keys())
          if (partitionFor(clientId) === partition && !stored.has(clientId)) known.delete(clientId);
        for (const [clientId, breaker] of stored) known.set(clientId, breaker);
      }
    },
  };
}
