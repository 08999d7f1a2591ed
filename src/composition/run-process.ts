import type { DependencyContainer } from "tsyringe";
import { type Config, ConfigError, readConfig } from "../runtime/config.ts";
import type { Environment } from "../runtime/settings.ts";
import { supervise } from "../runtime/supervise.ts";
import { registerShared } from "./shared.ts";
import { LOG, METRICS, resolve, WORKERS } from "./tokens.ts";

/** The settings, or undefined after saying on stderr what is wrong with them. */
export function configOrComplaint(processName: string, env: Environment): Config | undefined {
  try {
    return readConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`herald ${processName} cannot start, ${error.message}\n`);
    return undefined;
  }
}

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
  const config = configOrComplaint(name, env);
  if (!config) return 1;
  process.stdout.on("error", () => {}); // a log drain that breaks must not end the process, nor be told of in the log
  registerShared(container, config, name);
  register(container);
  const metrics = resolve(container, METRICS);
  metrics.collectProcess();
  return supervise({
    workers: resolve(container, WORKERS),
    log: resolve(container, LOG),
    onReady: () => metrics.ready.set(1),
  });
}
