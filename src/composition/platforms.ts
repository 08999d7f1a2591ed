import type { DependencyContainer } from "tsyringe";
import { createPlatforms } from "../platforms/platforms.ts";
import { createHolds } from "../queue/platform-holds.ts";
import type { Worker } from "../runtime/supervise.ts";
import { CONFIG, LOG, PLATFORMS, provide, REDIS, resolve } from "./tokens.ts";

/** Registers the platform clients. */
export function registerPlatforms(container: DependencyContainer): void {
  provide(container, PLATFORMS, (c) =>
    createPlatforms(resolve(c, CONFIG), { holds: createHolds(resolve(c, REDIS)), log: resolve(c, LOG) }),
  );
}

/** Closes the connections to the platforms at shutdown. */
export const platformConnections = (container: DependencyContainer): Worker => ({
  name: "platforms",
  close: resolve(container, PLATFORMS).close,
});
