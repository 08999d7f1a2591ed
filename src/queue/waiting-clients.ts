import { type QueueGroups, type StreamScope, type WaitReason, waitingRowsOf } from "./waiting-work.ts";

/** The rows of one client that wait in a stream for the same reason. */
export interface WaitingClient {
  client_id: string;
  stream: string;
  waiting: number;
  reason: WaitReason;
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
