import type { DependencyContainer } from "tsyringe";
import { type Config, readConfig } from "../runtime/config/config.ts";
import type { Environment } from "../runtime/config/settings.ts";
import { runWorkers, tryReadSettings } from "./run-workers.ts";
import { registerShared } from "./shared.ts";
import { LOG, METRICS, resolve, WORKERS } from "./tokens.ts";

/** Returns all settings, or undefined after printing their problems to stderr. */
export const tryReadConfig = (processName: string, env: Environment): Config | undefined =>
  tryReadSettings(processName, () => readConfig(env));

interface ProcessParts {
  name: string;
  env: Environment;
  /** Registers the parts of this process beyond the shared ones, including WORKERS. */
  register(container: DependencyContainer): void;
}

/** Runs a process from reading its settings to its exit code. */
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
