import { SECOND } from "../runtime/durations.ts";
import { timeOfId } from "../runtime/ids.ts";
import type { DeliveryGroup, FailureGroup, QueueGroup } from "../store/events/queue-metrics.ts";

/** Why a row waits. Every waiting row has exactly one reason. */
export const WAIT_REASONS = ["due", "order", "rate", "retry", "reconnect", "breaker"] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** Rows of one stream that are not finished, and rows that failed recently. */
export interface WaitingWork {
  oldest_due_seconds: number;
  in_flight: number;
  /** By reason; `total` is their sum. */
  waiting: Record<"total" | WaitReason, number>;
  oldest_accepted_seconds: number;
  failed_24h: number;
}

/** Everything that is not finished, and the rows that failed within 24 hours, over all streams. */
export interface QueueGroups {
  sends: readonly QueueGroup[];
  deliveries: readonly DeliveryGroup[];
  failedMessages: readonly FailureGroup[];
  failedDeliveries: readonly FailureGroup[];
}

export interface StreamScope {
  lane: "events" | "bulk" | "outbound";
  /** True for the clients whose rows belong to the stream. */
  isOwn(clientId: string): boolean;
  /** Clients whose circuit breaker is not closed: their deliveries wait for it. */
  blockedClients: ReadonlySet<string>;
}

type Situation = QueueGroup["situation"];

/** The reason why a row in this situation waits; null when it does not wait. */
export const waitReasonOf = (situation: Situation): Exclude<Situation, "in_flight" | "unknown"> | null =>
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
export function waitingRowsOf(groups: QueueGroups, scope: StreamScope): WaitingRows[] {
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
    },
    oldest_accepted_seconds: ageOf(
      rows.map(({ oldest_id }) => timeOfId(oldest_id)),
      now,
    ),
    failed_24h: sum(failures),
  };
}

const dueTimeOf = ({ next_attempt_at }: QueueGroup): number =>
  next_attempt_at?.getTime() ?? Number.POSITIVE_INFINITY;

const sum = (rows: readonly { count: number }[]): number =>
  rows.reduce((total, { count }) => total + count, 0);

/** Seconds since the earliest of these times; 0 when there is none. */
function ageOf(times: readonly number[], now: number): number {
  const earliest = times.reduce((least, time) => Math.min(least, time), now);
  return Math.round((now - earliest) / SECOND);
}
