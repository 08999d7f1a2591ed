import type { DependencyContainer } from "tsyringe";
import { createDestinations } from "../delivery/destinations.ts";
import { createEventPoster } from "../delivery/post-event.ts";
import { createResolver } from "../delivery/resolver.ts";
import type { Worker } from "../runtime/supervise.ts";
import { CONFIG, DESTINATIONS, EVENT_POSTER, provide, RESOLVER, resolve } from "./tokens.ts";

/** What sends events to the clients' backends, and guards where to. */
export function registerEventPoster(container: DependencyContainer): void {
  provide(container, DESTINATIONS, (c) => createDestinations(resolve(c, CONFIG).PRIVATE_DESTINATIONS));
  provide(container, RESOLVER, (c) => createResolver({ destinations: resolve(c, DESTINATIONS) }));
  provide(container, EVENT_POSTER, (c) =>
    createEventPoster({
      destinations: resolve(c, DESTINATIONS),
      resolver: resolve(c, RESOLVER),
      // Several clients may have the same host: the one that is slow must not take its connections from the others.
      connections: resolve(c, CONFIG).DISPATCHER_CONCURRENCY,
    }),
  );
}

/** Ends the connections to the clients' backends with the process. */
export const eventPosterConnections = (container: DependencyContainer): Worker => ({
  name: "event-poster",
  close: resolve(container, EVENT_POSTER).close,
});
