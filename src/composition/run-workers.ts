import { ConfigError } from "../runtime/config/config.ts";
import { type SuperviseOptions, supervise } from "../runtime/supervise.ts";

/** What was read of the settings, or undefined after saying on stderr what is wrong with them. */
export function tryReadSettings<T>(processName: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`herald ${processName} cannot start, ${error.message}\n`);
    return undefined;
  }
}

/** The workers of a process, from their start to its exit code. */
export function runWorkers(supervision: SuperviseOptions): Promise<number> {
  process.stdout.on("error", () => {}); // a log drain that breaks must not end the process, nor be told of in the log
  return supervise(supervision);
}
