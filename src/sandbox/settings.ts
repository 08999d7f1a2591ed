import type { Config } from "../runtime/config/config.ts";

/** The settings that the stand-in platforms share with the service. */
export type SandboxSettings = Pick<
  Config,
  "PUBLIC_URL" | "PLATFORM_APP_ID" | "PLATFORM_APP_SECRET" | "PLATFORM_VERIFY_TOKEN" | "SIGNUP_CONFIG_ID"
>;

/** The version of the platforms' interface that is spoken here. */
export const VERSION = "v26.0";
