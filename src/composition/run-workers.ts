import { type Config, ConfigError, readConfig } from "../runtime/config/config.ts";
import type { Environment } from "../runtime/config/settings.ts";
import { type SuperviseOptions, supervise } from "../runtime/supervise.ts";

/** Returns all settings, or undefined after printing their problems to stderr. */
export const tryReadConfig = (processName: string, env: Environment): Config | undefined =>
  tryReadSettings(processName, () => readConfig(env));

/** Returns the settings that `read` returns, or undefined after printing their problems to stderr. */
export function tryReadSettings<T>(processName: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`herald ${processName} cannot start, ${error.message}\n`);
    return undefined;
  }
}

/** Runs the workers of a process and returns its exit code. */
export function runWorkers(supervision: SuperviseOptions): Promise<number> {
  process.stdout.on("error", () => {}); // a broken log drain must not end the process and cannot be logged
  return supervise(supervision);
}
