import type { Config } from "../../runtime/config/config.ts";
import { rootCauseMessage } from "../../runtime/errors.ts";
import { tryParseJson } from "../../runtime/json/json.ts";
import { READINESS_STATUSES } from "../../schema/enumerations.ts";
import { ANSWER_TIMEOUT_MS, type Finding, failed, ok, warning } from "./checks.ts";

/** Checks that web answers at PUBLIC_URL, which it may do only for other machines. */
export async function examineWeb(publicUrl: string): Promise<Finding> {
  const address = `${publicUrl}/readyz`;
  try {
    const response = await request(address);
    const { status } = (tryParseJson(await response.text()) ?? {}) as { status?: unknown };
    if (!READINESS_STATUSES.some((word) => word === status))
      return warning(
        "web",
        `${address} answers ${response.status}, not as Herald does`,
        "correct PUBLIC_URL, or the proxy in front of web",
      );
    if (status !== "unavailable") return ok("web", `${status} at ${publicUrl}`);
    return warning(
      "web",
      `unavailable at ${publicUrl}: it cannot use Postgres, or migrations are missing`,
      "look for http.failed in its log; its settings may differ from these",
    );
  } catch (error) {
    return warning(
      "web",
      `no answer from ${address}: ${rootCauseMessage(error)}`,
      "start web; if it stops, its log says why: its settings may differ from these",
    );
  }
}

const PLATFORMS = [
  "AD_PLATFORM_URL",
  "CHAT_PLATFORM_URL",
  "PHOTO_PLATFORM_URL",
  "SOCIAL_PLATFORM_URL",
] as const satisfies readonly (keyof Config)[];

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
    const fix = `correct ${names.join(", ")}, or let this machine reach the host`;
    // Outside production most of Herald can be tried without the platforms.
    return NODE_ENV === "production" ? failed("platforms", message, fix) : warning("platforms", message, fix);
  }
}

const request = (address: string) =>
  fetch(address, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });

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
