import type { DependencyContainer } from "tsyringe";
import { heartbeat } from "../../workers/dispatcher/heartbeat.ts";
import { newId } from "../runtime/ids.ts";
import { sharedWorkers } from "./shared.ts";
import { DATABASE, LOG, provide, resolve, WORKERS } from "./tokens.ts";

export function registerDispatcher(container: DependencyContainer): void {
  provide(container, WORKERS, (c) => [
    ...sharedWorkers(c),
    heartbeat({ id: newId("wrk"), db: resolve(c, DATABASE), log: resolve(c, LOG) }),
  ]);
}
