import { SECOND } from "../runtime/durations.ts";

const COOKIE_NAME = "herald_console";

/** The token in a Cookie header, if one is there. */
export function readConsoleCookie(header: string | undefined): string | undefined {
  const pairs = header?.split(";").map((pair) => pair.trim()) ?? [];
  return pairs.find((pair) => pair.startsWith(`${COOKIE_NAME}=`))?.slice(COOKIE_NAME.length + 1);
}

/** Whether a browser says, in Sec-Fetch-Site, that another site's page made the request. Such a one gets no cookie, and loses none. */
export const isForeignSite = (site: string | undefined): boolean =>
  site === "cross-site" || site === "same-site";

export interface ConsoleCookie {
  set(token: string, ttlMs: number): string;
  clear(): string;
}

/** The Set-Cookie header of the console: out of reach of scripts and of other sites. */
export function createConsoleCookie(publicUrl: string): ConsoleCookie {
  const secure = publicUrl.startsWith("https://") ? "; Secure" : "";
  const cookie = (value: string, seconds: number) =>
    `${COOKIE_NAME}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  return {
    set: (token, ttlMs) => cookie(token, Math.floor(ttlMs / SECOND)),
    clear: () => cookie("", 0),
  };
}
