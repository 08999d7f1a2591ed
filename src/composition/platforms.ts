import type { DependencyContainer } from "tsyringe";
import { createPlatforms } from "../platforms/platforms.ts";
import { createHolds } from "../queue/platform-holds.ts";
import type { Worker } from "../runtime/supervise.ts";
import { CONFIG, LOG, PLATFORMS, provide, REDIS, resolve } from "./tokens.ts";

/** Registers the platform clients; `isBackground` for a process that runs background jobs only. */
export function registerPlatforms(container: DependencyContainer, { isBackground = false } = {}): void {
  provide(container, PLATFORMS, (c) => {
    const holds = createHolds(resolve(c, REDIS));
    return createPlatforms(resolve(c, CONFIG), { holds, log: resolve(c, LOG), isBackground });
  });
}

/** Closes the connections to the platforms at shutdown. */
export const platformConnections = (container: DependencyContainer): Worker => ({
  name: "platforms",
  close: resolve(container, PLATFORMS).close,
});
