import { SECOND } from "../runtime/durations.ts";

const COOKIE_NAME = "herald_console";

/** Returns the token in a Cookie header, if present. */
export function readConsoleCookie(header: string | undefined): string | undefined {
  const pairs = header?.split(";").map((pair) => pair.trim()) ?? [];
  return pairs.find((pair) => pair.startsWith(`${COOKIE_NAME}=`))?.slice(COOKIE_NAME.length + 1);
}

/** True when Sec-Fetch-Site names another site as the origin. Such requests must neither set nor clear the cookie. */
export const isForeignSite = (site: string | undefined): boolean =>
  site === "cross-site" || site === "same-site";

export interface ConsoleCookie {
  set(token: string, ttlMs: number): string;
  clear(): string;
}

/** Builds the console's Set-Cookie header: HttpOnly and SameSite=Strict keep scripts and other sites from using it. */
export function createConsoleCookie(publicUrl: string): ConsoleCookie {
  const secure = publicUrl.startsWith("https://") ? "; Secure" : "";
  const cookie = (value: string, seconds: number) =>
    `${COOKIE_NAME}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  return {
    set: (token, ttlMs) => cookie(token, Math.floor(ttlMs / SECOND)),
    clear: () => cookie("", 0),
  };
}
