import type { DependencyContainer } from "tsyringe";
import { createDestinations } from "../delivery/destinations.ts";
import { createEventPoster } from "../delivery/post-event.ts";
import { createResolver } from "../delivery/resolver.ts";
import type { Worker } from "../runtime/supervise.ts";
import { CONFIG, DESTINATIONS, EVENT_POSTER, provide, RESOLVER, resolve } from "./tokens.ts";

/** Registers the parts that post events to the clients' backends and restrict their destinations. */
export function registerEventPoster(container: DependencyContainer): void {
  provide(container, DESTINATIONS, (c) => createDestinations(resolve(c, CONFIG).PRIVATE_DESTINATIONS));
  provide(container, RESOLVER, (c) => createResolver({ destinations: resolve(c, DESTINATIONS) }));
  provide(container, EVENT_POSTER, (c) =>
    createEventPoster({
      destinations: resolve(c, DESTINATIONS),
      resolver: resolve(c, RESOLVER),
      // One connection per slot and origin, so that a slow client does not starve others on the same host.
      connections: resolve(c, CONFIG).DISPATCHER_CONCURRENCY,
    }),
  );
}

/** Closes the connections to the clients' backends at shutdown. */
export const eventPosterConnections = (container: DependencyContainer): Worker => ({
  name: "event-poster",
  close: resolve(container, EVENT_POSTER).close,
});
