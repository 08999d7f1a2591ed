import type { DependencyContainer } from "tsyringe";
import { type Config, readConfig } from "../runtime/config/config.ts";
import type { Environment } from "../runtime/config/settings.ts";
import { runWorkers, tryReadSettings } from "./run-workers.ts";
import { registerShared } from "./shared.ts";
import { LOG, METRICS, resolve, WORKERS } from "./tokens.ts";

/** All settings, or undefined after saying on stderr what is wrong with them. */
export const tryReadConfig = (processName: string, env: Environment): Config | undefined =>
  tryReadSettings(processName, () => readConfig(env));

interface ProcessParts {
  name: string;
  env: Environment;
  /** Adds what this process has beyond the shared parts, its WORKERS above all. */
  register(container: DependencyContainer): void;
}

/** One process from its settings to its exit code. */
export async function runProcess(
  container: DependencyContainer,
  { name, env, register }: ProcessParts,
): Promise<number> {
  const config = tryReadConfig(name, env);
  if (!config) return 1;
  registerShared(container, config, name);
  register(container);
  const metrics = resolve(container, METRICS);
  metrics.collectProcess();
  return runWorkers({
    workers: resolve(container, WORKERS),
    log: resolve(container, LOG),
    onReady: () => metrics.ready.set(1),
  });
}
