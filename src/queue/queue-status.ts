import { DAY, SECOND } from "../runtime/durations.ts";
import { timeOfId } from "../runtime/ids.ts";
import type { Queryable } from "../store/database/database.ts";
import {
  countFailedDeliveries,
  type DeliveryGroup,
  type FailureGroup,
  groupDeliveries,
  type QueueGroup,
} from "../store/events/queue-metrics.ts";
import { countFailedMessages, groupSends, type SendGroup } from "../store/messages/queue-metrics.ts";
import { readQueueHold } from "../store/processes/queue-hold.ts";
import { type Breaker, isOpen, listBreakers } from "./breakers.ts";
import { listLimitedChannels } from "./rates.ts";
import type { RedisClient } from "./redis.ts";
import { countUnread, taggedKey, tagOf } from "./wake-ups.ts";

/** Why a row waits. Every waiting row has exactly one reason. */
export const WAIT_REASONS = [
  "due",
  "order",
  "rate",
  "retry",
  "reconnect",
  "breaker",
  "scheduled",
  "paused",
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** Rows of one stream that are not finished, and rows that failed recently. */
interface WaitingWork {
  oldest_due_seconds: number;
  in_flight: number;
  /** By reason; `total` is their sum. */
  waiting: Record<"total" | WaitReason, number>;
  oldest_accepted_seconds: number;
  failed_24h: number;
}

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

/** The rows of one client that wait in a stream for the same reason. */
interface WaitingClient {
  client_id: string;
  stream: string;
  waiting: number;
  reason: WaitReason;
}

export interface QueueStatus {
  held: boolean;
  held_since: Date | null;
  held_by: string | null;
  held_reason: string | null;
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
  const [hold, groups, breakers] = await Promise.all([
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
  return {
    held: hold.held,
    held_since: hold.since,
    held_by: hold.by,
    held_reason: hold.reason,
    data,
    clients: waitingClientsOf(groups, scopes),
  };
}

/** Everything that is not finished, and the rows that failed within 24 hours, over all streams. */
export interface QueueGroups {
  sends: readonly QueueGroup[];
  deliveries: readonly DeliveryGroup[];
  failedMessages: readonly FailureGroup[];
  failedDeliveries: readonly FailureGroup[];
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

interface StreamScope {
  lane: "events" | "bulk" | "outbound";
  /** True for the clients whose rows belong to the stream. */
  isOwn(clientId: string): boolean;
  /** Clients whose circuit breaker is not closed: their deliveries wait for it. */
  blockedClients: ReadonlySet<string>;
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

type Situation = QueueGroup["situation"];

/** The reason why a row in this situation waits; null when it does not wait. */
const waitReasonOf = (situation: Situation): Exclude<Situation, "in_flight" | "unknown"> | null =>
  situation === "in_flight" || situation === "unknown" ? null : situation;

const isInStream =
  ({ lane, isOwn }: StreamScope) =>
  ({ client_id, is_bulk }: { client_id: string; is_bulk?: boolean }) =>
    isOwn(client_id) && (is_bulk ?? false) === (lane === "bulk");

/** Rows of one client in a stream that wait for the same reason. */
interface WaitingRows {
  client_id: string;
  reason: WaitReason;
  count: number;
}

const rowsOf = ({ sends, deliveries }: QueueGroups, scope: StreamScope): QueueGroup[] =>
  (scope.lane === "outbound" ? sends : deliveries).filter(isInStream(scope));

/** The waiting rows of one stream; rows of a client with the same reason may be in several groups. */
function waitingRowsOf(groups: QueueGroups, scope: StreamScope): WaitingRows[] {
  const isBlocked = (clientId: string) => scope.blockedClients.has(clientId);
  return rowsOf(groups, scope).flatMap(({ client_id, situation, count }) => {
    const reason = waitReasonOf(situation);
    return reason === null ? [] : [{ client_id, reason: isBlocked(client_id) ? "breaker" : reason, count }];
  });
}

/** Reduces the groups of all streams to the figures of one. */
export function waitingWorkOf(groups: QueueGroups, scope: StreamScope, now = Date.now()): WaitingWork {
  const rows = rowsOf(groups, scope);
  const isOutbound = scope.lane === "outbound";
  const failures = (isOutbound ? groups.failedMessages : groups.failedDeliveries).filter(isInStream(scope));
  const waitingRows = waitingRowsOf(groups, scope);
  const countOf = (reason: WaitReason) => sum(waitingRows.filter((row) => row.reason === reason));
  const dueTimes = rows.filter(({ situation }) => situation === "due").map(dueTimeOf);
  return {
    oldest_due_seconds: ageOf(dueTimes, now),
    in_flight: sum(rows.filter(({ situation }) => situation === "in_flight")),
    waiting: {
      total: sum(waitingRows),
      due: countOf("due"),
      order: countOf("order"),
      rate: countOf("rate"),
      retry: countOf("retry"),
      reconnect: countOf("reconnect"),
      breaker: countOf("breaker"),
      scheduled: countOf("scheduled"),
      paused: countOf("paused"),
    },
    oldest_accepted_seconds: ageOf(rows.filter(isActive).map(acceptedTimeOf), now),
    failed_24h: sum(failures),
  };
}

/** Rows that wait for a time or a decision of their client are not late. */
const isActive = ({ situation }: QueueGroup): boolean => situation !== "scheduled" && situation !== "paused";

const acceptedTimeOf = ({ oldest_id, active_since }: QueueGroup): number =>
  Math.max(timeOfId(oldest_id), active_since?.getTime() ?? 0);

const dueTimeOf = ({ next_attempt_at }: QueueGroup): number =>
  next_attempt_at?.getTime() ?? Number.POSITIVE_INFINITY;

const sum = (rows: readonly { count: number }[]): number =>
  rows.reduce((total, { count }) => total + count, 0);

/** Seconds since the earliest of these times; 0 when there is none. */
function ageOf(times: readonly number[], now: number): number {
  const earliest = times.reduce((least, time) => Math.min(least, time), now);
  return Math.round((now - earliest) / SECOND);
}

const MAX_CLIENTS = 20;

/** Returns the largest entries of all streams, most waiting rows first. */
export function waitingClientsOf(
  groups: QueueGroups,
  scopes: readonly (StreamScope & { key: string })[],
): WaitingClient[] {
  const clients = scopes.flatMap((scope) => clientsInStream(groups, scope));
  return clients.sort((one, other) => other.waiting - one.waiting).slice(0, MAX_CLIENTS);
}

function clientsInStream(groups: QueueGroups, scope: StreamScope & { key: string }): WaitingClient[] {
  const clients = new Map<string, WaitingClient>();
  for (const { client_id, reason, count } of waitingRowsOf(groups, scope)) {
    const key = `${client_id} ${reason}`;
    const waiting = (clients.get(key)?.waiting ?? 0) + count;
    clients.set(key, { client_id, stream: scope.key, waiting, reason });
  }
  return [...clients.values()];
}
