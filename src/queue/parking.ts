import { evalByPartition } from "./eval-by-partition.ts";
import type { RedisClient } from "./redis.ts";
import { type EventLane, partitionOf, streamKey } from "./streams.ts";

/**
 * Keeps the ids of parked deliveries in Redis, per lane and client. `park` adds those of a client that used its share of
 * slots; `pop` takes them out in the same order when the client has free slots again.
 * Parked ids are derived from the rows: when Redis loses them, the sweep re-queues the deliveries.
 */

interface ParkingLimits {
  /** Further deliveries of the client wait in their rows. */
  maxPerClient: number;
  /** The sweep queues no more deliveries of a client with this many parked ones. */
  saturatedAt: number;
}

/** A fast backend takes more than a thousand a second: with fewer, it would wait for the sweep. */
const PARKING_LIMITS: ParkingLimits = { maxPerClient: 10_000, saturatedAt: 2_000 };

/**
 * KEYS: the set of clients with parked deliveries, then the parked ids of each client. ARGV: the maximum and the time,
 * then for each client its id, the number of its deliveries and their ids. Adds new ids in order up to the maximum;
 * returns those that did not fit.
 */
const PARK = `
  local left, at = {}, 3
  for key = 2, #KEYS do
    local client, count = ARGV[at], tonumber(ARGV[at + 1])
    local room = tonumber(ARGV[1]) - redis.call("zcard", KEYS[key])
    for i = at + 2, at + 1 + count do
      if redis.call("zscore", KEYS[key], ARGV[i]) then
      elseif room > 0 then
        redis.call("zadd", KEYS[key], ARGV[2], ARGV[i])
        room = room - 1
      else
        left[#left + 1] = ARGV[i]
      end
    end
    redis.call("sadd", KEYS[1], client)
    at = at + 2 + count
  end
  return left`;

/** KEYS as in PARK; ARGV: for each client its id and how many to take out. Returns a list of ids for each client. */
const POP = `
  local popped = {}
  for key = 2, #KEYS do
    local found = redis.call("zpopmin", KEYS[key], ARGV[2 * key - 2])
    local ids = {}
    for i = 1, #found, 2 do ids[#ids + 1] = found[i] end
    if redis.call("exists", KEYS[key]) == 0 then redis.call("srem", KEYS[1], ARGV[2 * key - 3]) end
    popped[key - 1] = ids
  end
  return popped`;

/** Deliveries of a client. */
export interface ClientIds {
  clientId: string;
  ids: readonly string[];
}

export type Parking = ReturnType<typeof createParking>;

export function createParking(
  redis: RedisClient,
  partitions: number,
  { maxPerClient, saturatedAt } = PARKING_LIMITS,
) {
  const clientsKey = (lane: EventLane, partition: number) => `${streamKey(lane, partition)}:parked`;
  const idsKey = (lane: EventLane, clientId: string) =>
    `${clientsKey(lane, partitionOf(clientId, partitions))}:${clientId}`;

  /** Runs a script on the set of clients and the parked ids of these clients. */
  const evalForClients = <C extends { clientId: string }>(
    lane: EventLane,
    clients: readonly C[],
    run: { script: string; argsOf(clients: readonly C[]): (string | number)[] },
  ) =>
    evalByPartition({ redis, partitions }, clients, {
      ...run,
      keysOf: (partition, group) => [
        clientsKey(lane, partition),
        ...group.map(({ clientId }) => idsKey(lane, clientId)),
      ],
    });

  const clientsOf = (lane: EventLane, partition: number): Promise<string[]> =>
    redis.smembers(clientsKey(lane, partition));
  const countsOf = (lane: EventLane, clients: readonly string[]): Promise<number[]> =>
    Promise.all(clients.map((clientId) => redis.zcard(idsKey(lane, clientId))));
  return {
    /** Returns the ids that did not fit. */
    async park(lane: EventLane, parked: readonly ClientIds[]): Promise<string[]> {
      const answers = await evalForClients(lane, parked, {
        script: PARK,
        argsOf: (clients) => [
          maxPerClient,
          Date.now(),
          ...clients.flatMap(({ clientId, ids }) => [clientId, ids.length, ...ids]),
        ],
      });
      return answers.flatMap(({ answer }) => answer as string[]);
    },
    /** Takes out the oldest ids, at most `count` of each client. */
    async pop(lane: EventLane, wanted: readonly { clientId: string; count: number }[]): Promise<ClientIds[]> {
      const answers = await evalForClients(lane, wanted, {
        script: POP,
        argsOf: (clients) => clients.flatMap(({ clientId, count }) => [clientId, count]),
      });
      return answers.flatMap(({ items, answer }) =>
        items.map(({ clientId }, index) => ({ clientId, ids: (answer as string[][])[index] ?? [] })),
      );
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
      return clients.filter((_, index) => (counts[index] ?? 0) >= saturatedAt);
    },
  };
}
