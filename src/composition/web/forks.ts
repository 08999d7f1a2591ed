import type { DependencyContainer } from "tsyringe";
import { createForks } from "../../runtime/forks.ts";
import { createMetricsServer } from "../metrics-server.ts";
import { CONFIG, LOG, provide, resolve, WATCHDOG, WORKERS } from "../tokens.ts";

/** Registers the parent of several web processes, which only serves their aggregated metrics. */
export function registerWebForks(container: DependencyContainer): void {
  provide(container, WORKERS, (c) => {
    const [config, log] = [resolve(c, CONFIG), resolve(c, LOG)];
    const forks = createForks(config.WEB_CONCURRENCY, log);
    return [resolve(c, WATCHDOG), createMetricsServer(config, forks.metrics, log), forks];
  });
}
