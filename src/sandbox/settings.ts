import type { Config } from "../runtime/config/config.ts";

/** The settings that the sandbox shares with the service. */
export type SandboxSettings = Pick<
  Config,
  "PUBLIC_URL" | "PLATFORM_APP_ID" | "PLATFORM_APP_SECRET" | "PLATFORM_VERIFY_TOKEN" | "SIGNUP_CONFIG_ID"
>;

/** The platform API version that the sandbox implements. */
export const VERSION = "v26.0";
