import { SECOND } from "../runtime/durations.ts";

const COOKIE_NAME = "herald_console";

/** True when Sec-Fetch-Site names another site as the origin. Such requests must neither set nor clear the cookie. */
export const isForeignSite = (site: string | undefined): boolean =>
  site === "cross-site" || site === "same-site";

export interface ConsoleCookie {
  set(token: string, ttlMs: number): string;
  clear(): string;
  /** Returns the token in a Cookie header, if present. */
  read(header: string | undefined): string | undefined;
}

/**
 * The console's cookie: HttpOnly and SameSite=Strict keep scripts and other sites from using it. On https the prefix
 * `__Host-` keeps other hosts of the same domain from setting it, so the name without the prefix is not read there.
 */
export function createConsoleCookie(publicUrl: string): ConsoleCookie {
  const isHttps = publicUrl.startsWith("https://");
  const name = isHttps ? `__Host-${COOKIE_NAME}` : COOKIE_NAME;
  const secure = isHttps ? "; Secure" : "";
  const cookie = (value: string, seconds: number) =>
    `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  return {
    set: (token, ttlMs) => cookie(token, Math.floor(ttlMs / SECOND)),
    clear: () => cookie("", 0),
    read(header) {
      const pairs = header?.split(";").map((pair) => pair.trim()) ?? [];
      return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
    },
  };
}
