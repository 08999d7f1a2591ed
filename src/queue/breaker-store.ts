import { PROBE_LEASE_MS } from "../runtime/deadlines.ts";
import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";
import { partitionOf, streamKey } from "./streams.ts";

/** An open or half-open breaker; a closed one has no record. */
export interface Breaker {
  origin: string;
  /** When the open breaker becomes half-open, in milliseconds since 1970. */
  until: number;
  failedProbes: number;
  /** When it first opened, in milliseconds since 1970; absent in records of earlier versions. */
  since?: number;
}

/** Every dispatcher refreshes its breakers within this time. */
const PROPAGATION_MS = 2 * SECOND;

/** Both event lanes share this table: a client has the same backend on either. */
const tableKey = (partition: number) => `${streamKey("events", partition)}:breakers`;

/** True for a breaker that is open; it is half-open otherwise. */
export const isOpen = ({ until }: Breaker): boolean => until > Date.now();

/** Reads the breaker of one client; undefined when it is closed. Throws while Redis is unavailable. */
export async function readBreaker(
  redis: RedisClient,
  partitions: number,
  clientId: string,
): Promise<Breaker | undefined> {
  const text = await redis.hget(tableKey(partitionOf(clientId, partitions)), clientId);
  return text === null ? undefined : JSON.parse(text);
}

/** Reads the breakers of one partition that are not closed, by client. Throws while Redis is unavailable. */
export async function listBreakers(redis: RedisClient, partition: number): Promise<Map<string, Breaker>> {
  const table = await redis.hgetall(tableKey(partition));
  return new Map(Object.entries(table).map(([clientId, text]) => [clientId, JSON.parse(text)]));
}

/** Shares breakers through Redis. While it is unavailable, every method except `tryAcquireProbe` throws. */
export function createBreakerStore(redis: RedisClient, partitions: number) {
  const partitionFor = (clientId: string) => partitionOf(clientId, partitions);
  const tableKeyOf = (clientId: string) => tableKey(partitionFor(clientId));
  const probeKeyOf = (clientId: string) => `${streamKey("events", partitionFor(clientId))}:probe:${clientId}`;
  return {
    async save(clientId: string, breaker: Breaker): Promise<void> {
      await redis.hset(tableKeyOf(clientId), clientId, JSON.stringify(breaker));
      // Keep the probe key until every dispatcher has read the new state; one with the old state would probe again.
      await redis.pexpire(probeKeyOf(clientId), PROPAGATION_MS);
    },
    async remove(clientId: string): Promise<void> {
      await redis.hdel(tableKeyOf(clientId), clientId);
      await redis.del(probeKeyOf(clientId));
    },
    /** False while another dispatcher probes this client's destination. True without Redis: each then decides alone. */
    async tryAcquireProbe(clientId: string): Promise<boolean> {
      const answer = await redis.set(probeKeyOf(clientId), "1", "PX", PROBE_LEASE_MS, "NX").catch(() => "OK");
      return answer === "OK";
    },
    /** Updates `known` from Redis, one partition at a time. */
    async refresh(known: Map<string, Breaker>): Promise<void> {
      for (let partition = 0; partition < partitions; partition++) {
        const stored = await listBreakers(redis, partition);
        for (const clientId of known.keys())
          if (partitionFor(clientId) === partition && !stored.has(clientId)) known.delete(clientId);
        for (const [clientId, breaker] of stored) known.set(clientId, breaker);
      }
    },
  };
}
