import type { RedisClient } from "./redis.ts";
import { type EventLane, partitionOf, streamKey } from "./streams.ts";

/**
 * Keeps the ids of parked deliveries in Redis, per lane and client. `park` adds those of a client that used its share of
 * slots; `pop` takes them out in the same order when the client has free slots again.
 * Parked ids are derived from the rows: when Redis loses them, the sweep re-queues the deliveries.
 */

/** Further deliveries of the client wait in their rows. */
const MAX_PARKED_PER_CLIENT = 1_000;
/** The sweep queues no more deliveries of a client with this many parked ones. */
const SATURATED_PER_CLIENT = MAX_PARKED_PER_CLIENT / 2;

/** Adds new ids in order up to the maximum; returns those that did not fit. */
const PARK = `
  local left = {}
  local room = tonumber(ARGV[2]) - redis.call("zcard", KEYS[1])
  for i = 4, #ARGV do
    if redis.call("zscore", KEYS[1], ARGV[i]) then
    elseif room > 0 then
      redis.call("zadd", KEYS[1], ARGV[3], ARGV[i])
      room = room - 1
    else
      left[#left + 1] = ARGV[i]
    end
  end
  redis.call("sadd", KEYS[2], ARGV[1])
  return left`;

const POP = `
  local found = redis.call("zpopmin", KEYS[1], ARGV[2])
  local ids = {}
  for i = 1, #found, 2 do ids[#ids + 1] = found[i] end
  if redis.call("exists", KEYS[1]) == 0 then redis.call("srem", KEYS[2], ARGV[1]) end
  return ids`;

export type Parking = ReturnType<typeof createParking>;

export function createParking(redis: RedisClient, partitions: number) {
  const keysOf = (lane: EventLane, clientId: string) => {
    const stream = streamKey(lane, partitionOf(clientId, partitions));
    return [`${stream}:parked:${clientId}`, `${stream}:parked`] as const;
  };
  const clientsOf = (lane: EventLane, partition: number): Promise<string[]> =>
    redis.smembers(`${streamKey(lane, partition)}:parked`);
  const countsOf = (lane: EventLane, clients: readonly string[]): Promise<number[]> =>
    Promise.all(clients.map((clientId) => redis.zcard(keysOf(lane, clientId)[0])));
  return {
    /** Returns the ids that did not fit. */
    async park(lane: EventLane, clientId: string, ids: readonly string[]): Promise<string[]> {
      const answer = await redis.eval(
        PARK,
        2,
        ...keysOf(lane, clientId),
        clientId,
        MAX_PARKED_PER_CLIENT,
        Date.now(),
        ...ids,
      );
      return answer as string[];
    },
    async pop(lane: EventLane, clientId: string, count: number): Promise<string[]> {
      return (await redis.eval(POP, 2, ...keysOf(lane, clientId), clientId, count)) as string[];
    },
    /** Clients with parked deliveries. */
    clients: clientsOf,
    async count(lane: EventLane, partition: number): Promise<number> {
      const counts = await countsOf(lane, await clientsOf(lane, partition));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    /** Clients with so many parked deliveries that the sweep skips them. */
    async saturatedClients(lane: EventLane): Promise<string[]> {
      const all = Array.from({ length: partitions }, (_, partition) => clientsOf(lane, partition));
      const clients = (await Promise.all(all)).flat();
      const counts = await countsOf(lane, clients);
      return clients.filter((_, index) => (counts[index] ?? 0) >= SATURATED_PER_CLIENT);
    },
  };
}
