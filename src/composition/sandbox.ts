import { ConfigError, readSettings } from "../runtime/config/config.ts";
import type { Environment } from "../runtime/config/settings.ts";
import { createLog } from "../runtime/log.ts";
import { createSandbox } from "../sandbox/sandbox.ts";
import { runWorkers, tryReadSettings } from "./run-workers.ts";

/** The settings of the sandbox. All have defaults: the sandbox uses no database, Redis or encryption keys. */
const SETTING_NAMES = [
  "NODE_ENV",
  "PORT",
  "PUBLIC_URL",
  "PLATFORM_APP_ID",
  "PLATFORM_APP_SECRET",
  "PLATFORM_VERIFY_TOKEN",
  "SIGNUP_CONFIG_ID",
  "SANDBOX_PORT",
  "SANDBOX_MEDIA_PORT",
  "LOG_LEVEL",
  "LOG_FORMAT",
] as const;

function readSandboxSettings(env: Environment) {
  if (env.NODE_ENV === "production")
    throw new ConfigError(["NODE_ENV must not be production: the sandbox only simulates the platforms"]);
  return readSettings(env, SETTING_NAMES);
}

/** Runs the simulated platforms as a separate process. */
export async function runSandbox(env: Environment): Promise<number> {
  const settings = tryReadSettings("sandbox", () => readSandboxSettings(env));
  if (!settings) return 1;
  const log = createLog({ ...settings, process: "sandbox" });
  const sandbox = createSandbox({
    settings,
    port: settings.SANDBOX_PORT,
    mediaPort: settings.SANDBOX_MEDIA_PORT,
    log,
    demoApiKey: env.DEMO_API_KEY,
  });
  return runWorkers({ workers: [sandbox], log });
}
