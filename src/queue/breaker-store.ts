import { PROBE_LEASE_MS } from "../runtime/deadlines.ts";
import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";
import { taggedKey, tagOf } from "./wake-ups.ts";

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

/** Fresh events and replays share this table: a client has the same backend for both. */
const tableKey = (tag: number) => taggedKey(tag, "breakers");

/** True for a breaker that is open; it is half-open otherwise. */
export const isOpen = ({ until }: Breaker): boolean => until > Date.now();

/** Reads the breaker of one client; undefined when it is closed. Throws while Redis is unavailable. */
export async function readBreaker(
  redis: RedisClient,
  tags: readonly number[],
  clientId: string,
): Promise<Breaker | undefined> {
  const text = await redis.hget(tableKey(tagOf(clientId, tags)), clientId);
  return text === null ? undefined : JSON.parse(text);
}

/** Reads the breakers of one tag that are not closed, by client. Throws while Redis is unavailable. */
export async function listBreakers(redis: RedisClient, tag: number): Promise<Map<string, Breaker>> {
  const table = await redis.hgetall(tableKey(tag));
  return new Map(Object.entries(table).map(([clientId, text]) => [clientId, JSON.parse(text)]));
}

/** Shares breakers through Redis. While it is unavailable, every method except `tryAcquireProbe` throws. */
export function createBreakerStore(redis: RedisClient, tags: readonly number[]) {
  const tableKeyOf = (clientId: string) => tableKey(tagOf(clientId, tags));
  const probeKeyOf = (clientId: string) => taggedKey(tagOf(clientId, tags), `probe:${clientId}`);
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
    /** Updates `known` from Redis, one tag at a time. */
    async refresh(known: Map<string, Breaker>): Promise<void> {
      for (const tag of tags) {
        const stored = await listBreakers(redis, tag);
        for (const clientId of known.keys())
          if (tagOf(clientId, tags) === tag && !stored.has(clientId)) known.delete(clientId);
        for (const [clientId, breaker] of stored) known.set(clientId, breaker);
      }
    },
  };
}
