import { DAY } from "../runtime/durations.ts";
import type { Queryable } from "../store/database/database.ts";
import { countFailedDeliveries, groupDeliveries } from "../store/events/queue-metrics.ts";
import { countFailedMessages, groupSends, type SendGroup } from "../store/messages/queue-metrics.ts";
import { readQueueHold } from "../store/processes/queue-hold.ts";
import { type Breaker, isOpen, listBreakers } from "./breaker-store.ts";
import { listLimitedChannels } from "./rates.ts";
import type { RedisClient } from "./redis.ts";
import { type WaitingClient, waitingClientsOf } from "./waiting-clients.ts";
import { type QueueGroups, type StreamScope, type WaitingWork, waitingWorkOf } from "./waiting-work.ts";
import { countUnread, taggedKey, tagOf } from "./wake-ups.ts";

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
  tags: readonly number[];
}

export async function queueStatus(parts: QueueParts): Promise<QueueStatus> {
  const [{ held, since }, groups, breakers] = await Promise.all([
    readQueueHold(parts.db),
    readGroups(parts),
    readBreakers(parts).catch(() => null),
  ]);
  const scopes = scopesOf(parts, breakers);
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

async function readGroups(parts: QueueParts): Promise<QueueGroups> {
  const { db } = parts;
  const [sends, deliveries, failedMessages, failedDeliveries] = await Promise.all([
    groupSends(db).then((groups) => withRateLimits(parts, groups)),
    groupDeliveries(db),
    countFailedMessages(db, 1 * DAY),
    countFailedDeliveries(db, 1 * DAY),
  ]);
  return { sends, deliveries, failedMessages, failedDeliveries };
}

/** Sends that are due and whose channel uses its rate wait for it. Without Redis they count as due. */
async function withRateLimits(parts: QueueParts, groups: readonly SendGroup[]): Promise<SendGroup[]> {
  const due = groups.filter(({ situation }) => situation === "due");
  const limited = await listLimitedChannels(
    parts,
    due.map(({ client_id, channel_id }) => ({ clientId: client_id, channelId: channel_id })),
  ).catch(() => new Set<string>());
  return groups.map((group) =>
    group.situation === "due" && limited.has(group.channel_id) ? { ...group, situation: "rate" } : group,
  );
}

/** By client. */
async function readBreakers({ redis, tags }: QueueParts): Promise<Map<string, Breaker>> {
  const lists = await Promise.all(tags.map((tag) => listBreakers(redis, tag)));
  return new Map(lists.flatMap((list) => [...list]));
}

/** A stream, and what only Redis knows of it. */
interface StatusScope extends StreamScope {
  key: string;
  openBreakers: number | null;
  readDepth(): Promise<number | null>;
}

const scopesOf = ({ redis, tags }: QueueParts, breakers: Map<string, Breaker> | null): StatusScope[] =>
  (["events", "bulk", "outbound"] as const).flatMap((lane) =>
    tags.map((tag): StatusScope => {
      const isOwn = (clientId: string) => tagOf(clientId, tags) === tag;
      const own = breakers && [...breakers].filter(([clientId]) => isOwn(clientId));
      const key = taggedKey(tag, lane);
      const hasBreakers = lane !== "outbound";
      return {
        lane,
        key,
        isOwn,
        blockedClients: new Set(hasBreakers ? own?.map(([clientId]) => clientId) : []),
        openBreakers: hasBreakers ? (own?.filter(([, breaker]) => isOpen(breaker)).length ?? null) : 0,
        // Replays need no wake-ups.
        readDepth: async () => (lane === "bulk" ? (breakers ? 0 : null) : countUnread(redis, key)),
      };
    }),
  );
