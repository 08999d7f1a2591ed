import { DAY } from "../runtime/durations.ts";
import type { Queryable } from "../store/database/database.ts";
import { countFailedDeliveries, groupDeliveries } from "../store/events/queue-metrics.ts";
import { countFailedMessages, groupSends } from "../store/messages/queue-metrics.ts";
import { readQueueHold } from "../store/processes/queue-hold.ts";
import { type Breaker, isOpen, listBreakers } from "./breaker-store.ts";
import type { RedisClient } from "./redis.ts";
import { createStreams, partitionOf } from "./streams.ts";
import { type WaitingClient, waitingClientsOf } from "./waiting-clients.ts";
import { type QueueGroups, type StreamScope, type WaitingWork, waitingWorkOf } from "./waiting-work.ts";
import { countUnread, tagOf, wakeUpStream } from "./wake-ups.ts";

/**
 * State of one stream. Values that only Redis has are null while it is unavailable; deliveries that wait for a circuit
 * breaker then count as due or as retries.
 */
export interface StreamStatus extends WaitingWork {
  stream: string;
  /** Entries that no dispatcher has read. Replays have no entries. */
  depth: number | null;
  /** Always 0: deliveries wait in Postgres only. */
  parked: number;
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
  tags: readonly number[];
}

export async function queueStatus(parts: QueueParts): Promise<QueueStatus> {
  const [{ held, since }, groups, breakers] = await Promise.all([
    readQueueHold(parts.db),
    readGroups(parts.db),
    readBreakers(parts).catch(() => null),
  ]);
  const scopes = [...eventScopes(parts, breakers), ...sendScopes(parts)];
  const data = await Promise.all(
    scopes.map(async (scope) => ({
      stream: scope.key,
      depth: await scope.readDepth().catch(() => null),
      parked: 0,
      open_breakers: scope.openBreakers,
      ...waitingWorkOf(groups, scope),
    })),
  );
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

/** By client. */
async function readBreakers({ redis, partitions }: QueueParts): Promise<Map<string, Breaker>> {
  const lists = await Promise.all(
    Array.from({ length: partitions }, (_, partition) => listBreakers(redis, partition)),
  );
  return new Map(lists.flatMap((list) => [...list]));
}

/** A stream, and what only Redis knows of it. */
interface StatusScope extends StreamScope {
  key: string;
  openBreakers: number | null;
  readDepth(): Promise<number | null>;
}

const eventScopes = ({ redis, tags }: QueueParts, breakers: Map<string, Breaker> | null): StatusScope[] =>
  tags.flatMap((tag) => {
    const isOwn = (clientId: string) => tagOf(clientId, tags) === tag;
    const own = breakers && [...breakers].filter(([clientId]) => isOwn(clientId));
    const scope = {
      isOwn,
      blockedClients: new Set(own?.map(([clientId]) => clientId)),
      openBreakers: own?.filter(([, breaker]) => isOpen(breaker)).length ?? null,
    };
    return [
      { ...scope, lane: "events", key: wakeUpStream(tag), readDepth: () => countUnread(redis, tag) },
      { ...scope, lane: "bulk", key: `{${tag}}:bulk`, readDepth: async () => (breakers ? 0 : null) },
    ] as const;
  });

function sendScopes({ redis, partitions }: QueueParts): StatusScope[] {
  const streams = createStreams(redis, partitions);
  return streams.all.map(({ key, partition }) => ({
    lane: "outbound",
    key,
    isOwn: (clientId) => partitionOf(clientId, partitions) === partition,
    blockedClients: new Set(),
    openBreakers: 0,
    readDepth: () => streams.depth(key),
  }));
}
