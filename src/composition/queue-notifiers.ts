import type { DependencyContainer } from "tsyringe";
import { createQueueNotifier } from "../queue/queue-notifier.ts";
import { createStreams, type Lane, type QueueRef } from "../queue/streams.ts";
import type { Database } from "../store/database/database.ts";
import { unmarkQueued } from "../store/events/sweep-deliveries.ts";
import { unmarkQueuedSends } from "../store/messages/claim-sends.ts";
import { readQueueHold } from "../store/processes/queue-hold.ts";
import {
  DATABASE,
  EVENT_NOTIFIER,
  LOG,
  MESSAGE_NOTIFIER,
  PARTITIONS,
  provide,
  REDIS,
  resolve,
} from "./tokens.ts";

/** Registers the notifiers of deliveries and sends. Both are workers, because they watch Redis while they run. */
export function registerQueueNotifiers(container: DependencyContainer): void {
  provide(container, EVENT_NOTIFIER, (c) => createNotifier(c, "events", unmarkQueued));
  provide(container, MESSAGE_NOTIFIER, (c) => createNotifier(c, "outbound", unmarkQueuedSends));
}

/** `unmark` records that rows are in no stream, so that the sweep adds them again. */
function createNotifier<R extends QueueRef>(
  container: DependencyContainer,
  lane: Lane,
  unmark: (db: Database, refs: readonly R[]) => Promise<void>,
) {
  const [redis, db] = [resolve(container, REDIS), resolve(container, DATABASE)];
  const streams = createStreams(redis, resolve(container, PARTITIONS));
  const parts = { redis, streams, lane, log: resolve(container, LOG) };
  return createQueueNotifier<R>({
    ...parts,
    unmarkQueued: (refs) => unmark(db, refs),
    readIsHeld: async () => (await readQueueHold(db)).held,
  });
}
