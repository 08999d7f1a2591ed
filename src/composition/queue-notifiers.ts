import type { DependencyContainer } from "tsyringe";
import { createQueueNotifier } from "../queue/queue-notifier.ts";
import { createStreams } from "../queue/streams.ts";
import { createEventNotifier, tagsOf } from "../queue/wake-ups.ts";
import { unmarkQueuedSends } from "../store/messages/claim-sends.ts";
import { readQueueHold } from "../store/processes/queue-hold.ts";
import {
  CONFIG,
  DATABASE,
  EVENT_NOTIFIER,
  LOG,
  MESSAGE_NOTIFIER,
  PARTITIONS,
  provide,
  REDIS,
  resolve,
} from "./tokens.ts";

/** Registers the notifiers of deliveries and sends. */
export function registerQueueNotifiers(container: DependencyContainer): void {
  provide(container, EVENT_NOTIFIER, (c) =>
    createEventNotifier(resolve(c, REDIS), tagsOf(resolve(c, CONFIG))),
  );
  provide(container, MESSAGE_NOTIFIER, (c) => {
    const [redis, db] = [resolve(c, REDIS), resolve(c, DATABASE)];
    return createQueueNotifier({
      redis,
      streams: createStreams(redis, resolve(c, PARTITIONS)),
      log: resolve(c, LOG),
      unmarkQueued: (refs) => unmarkQueuedSends(db, refs),
      readIsHeld: async () => (await readQueueHold(db)).held,
    });
  });
}
