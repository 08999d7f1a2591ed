import { DAY } from "../runtime/durations.ts";
import type { Queryable } from "../store/database/database.ts";
import { countFailedDeliveries, groupDeliveries } from "../store/events/queue-metrics.ts";
import { countFailedMessages, groupSends } from "../store/messages/queue-metrics.ts";
import { readQueueHold } from "../store/processes/queue-hold.ts";
import { isOpen, listBreakers } from "./breaker-store.ts";
import { createParking } from "./parking.ts";
import type { RedisClient } from "./redis.ts";
import { createStreams, type Stream } from "./streams.ts";
import { type WaitingClient, waitingClientsOf } from "./waiting-clients.ts";
import { type QueueGroups, type WaitingWork, waitingWorkOf } from "./waiting-work.ts";

/**
 * State of one stream. Values that only Redis has are null while it is unavailable; deliveries that wait for a circuit
 * breaker then count as due or as retries.
 */
export interface StreamStatus extends WaitingWork {
  stream: string;
  /** Entries in the stream, read or not. */
  depth: number | null;
  /** Deliveries that wait because their clients used their shares of slots. */
  parked: number | null;
  /** The same number on both event lanes: a breaker blocks a client's events on either. */
  open_breakers: number | null;
}

export interface QueueStatus {
  held: boolean;
  held_since: Date | null;
  data: StreamStatus[];
  /** The clients for which most waits. */
  clients: WaitingClient[];
}

export interface QueueParts {
  db: Queryable;
  redis: RedisClient;
  partitions: number;
}

export async function queueStatus({ db, redis, partitions }: QueueParts): Promise<QueueStatus> {
  const streams = createStreams(redis, partitions);
  const [{ held, since }, groups, redisFigures] = await Promise.all([
    readQueueHold(db),
    readGroups(db),
    Promise.all(streams.all.map((stream) => readRedis(redis, stream, partitions))),
  ]);
  const scopes = streams.all.map((stream, index) => {
    const { blockedClients, ...figures } = redisFigures[index] as RedisFigures;
    return { key: stream.key, stream, partitions, blockedClients, figures };
  });
  const data = scopes.map(({ key, figures, ...scope }) => ({
    stream: key,
    ...figures,
    ...waitingWorkOf(groups, scope),
  }));
  return { held, held_since: since, data, clients: waitingClientsOf(groups, scopes) };
}

async function readGroups(db: Queryable): Promise<QueueGroups> {
  const [sends, deliveries, failedMessages, failedDeliveries] = await Promise.all([
    groupSends(db),
    groupDeliveries(db),
    countFailedMessages(db, 1 * DAY),
    countFailedDeliveries(db, 1 * DAY),
  ]);
  return { sends, deliveries, failedMessages, failedDeliveries };
}

type RedisFigures = Pick<StreamStatus, "depth" | "parked" | "open_breakers"> & {
  blockedClients: ReadonlySet<string>;
};

async function readRedis(
  redis: RedisClient,
  { lane, partition, key }: Stream,
  partitions: number,
): Promise<RedisFigures> {
  const depth = createStreams(redis, partitions)
    .depth(key)
    .catch(() => null);
  if (lane === "outbound")
    return { depth: await depth, parked: 0, open_breakers: 0, blockedClients: new Set() };
  const [parked, breakers] = await Promise.all([
    createParking(redis, partitions)
      .count(lane, partition)
      .catch(() => null),
    listBreakers(redis, partition).catch(() => null),
  ]);
  return {
    depth: await depth,
    parked,
    open_breakers: breakers && [...breakers.values()].filter(isOpen).length,
    blockedClients: new Set(breakers?.keys()),
  };
}
