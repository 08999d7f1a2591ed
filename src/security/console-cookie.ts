import { SECOND } from "../runtime/durations.ts";

const NAME = "herald_console";

/** The token in a Cookie header, if one is there. */
export function readConsoleCookie(header: string | undefined): string | undefined {
  const pairs = header?.split(";").map((pair) => pair.trim()) ?? [];
  return pairs.find((pair) => pair.startsWith(`${NAME}=`))?.slice(NAME.length + 1);
}

/** Whether a browser says, in Sec-Fetch-Site, that another site's page made the request. Such a one gets no cookie, and loses none. */
export const isForeignSite = (site: string | undefined): boolean =>
  site === "cross-site" || site === "same-site";

export interface ConsoleCookie {
  keep(token: string, lasts: number): string;
  clear(): string;
}

/** The Set-Cookie header of the console: out of reach of scripts and of other sites. */
export function createConsoleCookie(publicUrl: string): ConsoleCookie {
  const secure = publicUrl.startsWith("https://") ? "; Secure" : "";
  const cookie = (value: string, seconds: number) =>
    `${NAME}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  return {
    keep: (token, lasts) => cookie(token, Math.floor(lasts / SECOND)),
    clear: () => cookie("", 0),
  };
}
