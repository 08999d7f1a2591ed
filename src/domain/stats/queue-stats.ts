import { readBreakerState, type SharedBreakerState } from "../../queue/breakers.ts";
import type { QueueParts } from "../../queue/queue-status.ts";
import { timeOfId } from "../../runtime/ids.ts";
import { EVENT_KEYS, type EventKey } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/times.ts";
import type { Database } from "../../store/database/database.ts";
import { countWaitingDeliveries, type WaitingDeliveries } from "../../store/events/events.ts";
import { findOldestQueued } from "../../store/messages/messages.ts";
import { readQueueHold } from "../../store/processes/queue-hold.ts";
import { findWebhookConfig } from "../../store/tenants/webhook-configs.ts";

export interface QueueStatsParts extends QueueParts {
  db: Database;
}

interface BackendState {
  breaker: SharedBreakerState["state"];
  /** Scheme, host and port of the backend; null while the breaker is closed. */
  origin: string | null;
  /** When the open breaker lets the next probe through; null unless it is open. */
  nextProbeAt: Date | null;
}

interface KeyQueue extends Omit<BackendState, "nextProbeAt"> {
  key: EventKey | null;
  waiting: number;
  /** When the oldest waiting event was accepted. */
  oldest_waiting_at: string | null;
  next_probe_at: string | null;
}

export interface QueueStats {
  held: boolean;
  /** When the oldest message that waits to be sent was accepted; null without any. */
  oldest_message_at: string | null;
  data: KeyQueue[];
}

/** Reads the live state of a client's queue. Concurrent requests of a client share one query. */
export function createQueueStats(
  parts: Omit<QueueStatsParts, "db">,
): (db: Database, clientId: string) => Promise<QueueStats> {
  const reads = new Map<string, Promise<QueueStats>>();
  /** The statements do not end with the first caller: others wait for them too. */
  const startRead = (db: Database, clientId: string) =>
    readQueueStats({ ...parts, db: db.forKey(clientId) }, clientId).finally(() => reads.delete(clientId));
  return (db, clientId) => {
    const read = reads.get(clientId) ?? startRead(db, clientId);
    reads.set(clientId, read);
    return read;
  };
}

async function readQueueStats(parts: QueueStatsParts, clientId: string): Promise<QueueStats> {
  // One after the other: a request uses one connection.
  const { held } = await readQueueHold(parts.db);
  const rows = await countWaitingDeliveries(parts.db, clientId);
  const backend = await readBackendState(parts, clientId);
  const oldestMessage = await findOldestQueued(parts.db, clientId);
  const keys = rows.some(({ key }) => key === null) ? [...EVENT_KEYS, null] : EVENT_KEYS;
  return {
    held,
    oldest_message_at: timeOf(oldestMessage),
    data: keys.map((key) => toKeyQueue(key, { row: rows.find((row) => row.key === key), backend })),
  };
}

/** All keys of a client have the same backend, so they share its circuit breaker. */
export async function readBackendState(
  { db, ...parts }: QueueParts,
  clientId: string,
): Promise<BackendState> {
  const { webhook_url } = await findWebhookConfig(db, clientId);
  if (webhook_url === null) return CLOSED;
  const { origin } = new URL(webhook_url);
  const { state, until } = await readBreakerState(parts, { clientId, origin });
  return state === "closed" ? CLOSED : { breaker: state, origin, nextProbeAt: until };
}

const CLOSED: BackendState = { breaker: "closed", origin: null, nextProbeAt: null };

const toKeyQueue = (
  key: EventKey | null,
  { row, backend }: { row: WaitingDeliveries | undefined; backend: BackendState },
): KeyQueue => ({
  key,
  waiting: row?.waiting ?? 0,
  oldest_waiting_at: timeOf(row?.oldest_id),
  breaker: backend.breaker,
  origin: backend.origin,
  next_probe_at: toTimestamp(backend.nextProbeAt),
});

const timeOf = (id: string | undefined): string | null =>
  id === undefined ? null : toTimestamp(new Date(timeOfId(id)));
