import type { Config } from "../../runtime/config/config.ts";
import { SECOND } from "../../runtime/durations.ts";
import { databaseTime } from "../../store/database/clock.ts";
import type { Database } from "../../store/database/database.ts";
import { type Finding, failed, ok, rootCauseMessage, warning } from "./finding.ts";

const REQUEST_TIMEOUT_MS = 5 * SECOND;

/**
 * Signatures and tokens tolerate minutes, but an offset of this size means that the clock is not
 * synchronised.
 */
const MAX_CLOCK_OFFSET_MS = 5 * SECOND;

const PLATFORMS = [
  "AD_PLATFORM_URL",
  "CHAT_PLATFORM_URL",
  "PHOTO_PLATFORM_URL",
  "SOCIAL_PLATFORM_URL",
] as const satisfies readonly (keyof Config)[];

const request = (address: string) =>
  fetch(address, { redirect: "manual", signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });

/** Checks that the platforms' hosts answer; any answer counts. */
export async function examinePlatforms(config: Partial<Config>): Promise<Finding[]> {
  const settingsByHost = new Map<string, string[]>();
  for (const name of PLATFORMS) {
    const address = config[name];
    if (address === undefined) continue;
    const { origin } = new URL(address);
    settingsByHost.set(origin, [...(settingsByHost.get(origin) ?? []), name]);
  }
  const checks = [...settingsByHost].map(([origin, names]) => examinePlatform(origin, names, config));
  return Promise.all(checks);
}

async function examinePlatform(
  origin: string,
  names: string[],
  { NODE_ENV }: Partial<Config>,
): Promise<Finding> {
  try {
    await request(origin);
    return ok("platforms", `${origin} answers`);
  } catch (error) {
    const message = `no answer from ${origin}: ${rootCauseMessage(error)}`;
    const fix = `start the service there, correct ${names.join(", ")}, or allow this machine to reach it`;
    // Outside production most of Herald can be tried without the platforms.
    return NODE_ENV === "production" ? failed("platforms", message, fix) : warning("platforms", message, fix);
  }
}

export async function examineIdentityProvider(address: string): Promise<Finding> {
  try {
    const response = await request(address);
    const { keys } = (await response.json()) as { keys?: unknown };
    if (!Array.isArray(keys)) throw new Error("the answer is not a JSON Web Key Set");
    return ok("identity", `${keys.length} keys at JWT_JWKS_URL`);
  } catch (error) {
    return failed("identity", `no keys at JWT_JWKS_URL: ${rootCauseMessage(error)}`, "correct JWT_JWKS_URL");
  }
}

export async function examineClock(db: Database): Promise<Finding> {
  const requestedAt = Date.now();
  const databaseNow = await databaseTime(db);
  const midpoint = (requestedAt + Date.now()) / 2;
  const aheadSeconds = Math.round((midpoint - databaseNow.getTime()) / SECOND);
  if (Math.abs(aheadSeconds) * SECOND <= MAX_CLOCK_OFFSET_MS) return ok("clock", "agrees with Postgres");
  const fix = "synchronise the clocks of both machines with NTP";
  return failed(
    "clock",
    `${Math.abs(aheadSeconds)} s ${aheadSeconds > 0 ? "ahead of" : "behind"} Postgres`,
    fix,
  );
}
