import type { DependencyContainer } from "tsyringe";
import { createQueueNotifier, type QueueNotifier } from "../../queue/queue-notifier.ts";
import { createStreams, type Lane, type QueueRef } from "../../queue/streams.ts";
import type { Worker } from "../../runtime/supervise.ts";
import type { Database } from "../../store/database/database.ts";
import { unmarkQueued } from "../../store/events/sweep-deliveries.ts";
import { unmarkQueuedSends } from "../../store/messages/claim-sends.ts";
import {
  DATABASE,
  EVENT_NOTIFIER,
  LOG,
  MESSAGE_NOTIFIER,
  PARTITIONS,
  provide,
  REDIS,
  resolve,
  type Token,
} from "../tokens.ts";

export function registerQueueNotifiers(container: DependencyContainer): void {
  provide(container, EVENT_NOTIFIER, (c) => createNotifier(c, "events", unmarkQueued));
  provide(container, MESSAGE_NOTIFIER, (c) => createNotifier(c, "outbound", unmarkQueuedSends));
}

/** `unmark`: says of rows that they are in no queue. */
function createNotifier<R extends QueueRef>(
  container: DependencyContainer,
  lane: Lane,
  unmark: (db: Database, refs: readonly R[]) => Promise<void>,
) {
  const [redis, db] = [resolve(container, REDIS), resolve(container, DATABASE)];
  const streams = createStreams(redis, resolve(container, PARTITIONS));
  const parts = { redis, streams, lane, log: resolve(container, LOG) };
  return createQueueNotifier<R>({ ...parts, unmarkQueued: (refs) => unmark(db, refs) });
}

/** Resolved when it is first asked: the table of routes must not connect to anything. */
export const lazyNotifier = <R extends QueueRef>(
  container: DependencyContainer,
  name: Token<QueueNotifier<R> & Worker>,
): QueueNotifier<R> => ({
  epoch: () => resolve(container, name).epoch(),
  notify: (refs) => resolve(container, name).notify(refs),
});
