import type { AdAccountDto, OauthUrlResponseDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";

/** A login at the ad platform that this browser has begun. */
interface BegunLogin extends Pick<OauthUrlResponseDto, "state" | "redirect_uri"> {
  /** True once its code was exchanged. It is kept, so that the way back leads to the console and not to a command. */
  isTaken?: boolean;
}

/** The view at /console/oauth reads the logins under this name, and hands over to the console when the state of one returns. */
const BEGUN_LOGINS = "herald-ads-logins";

/** Several tabs may have begun one. */
const MAX_BEGUN_LOGINS = 5;

/** Empty where the browser allows no storage. */
function readBegunLogins(): BegunLogin[] {
  try {
    return JSON.parse(localStorage.getItem(BEGUN_LOGINS) ?? "[]") as BegunLogin[];
  } catch {
    return [];
  }
}

/** Without storage, the view shows a command for the exchange. */
function storeBegunLogins(logins: readonly BegunLogin[]): void {
  try {
    localStorage.setItem(BEGUN_LOGINS, JSON.stringify(logins.slice(-MAX_BEGUN_LOGINS)));
  } catch {}
}

/** Leaves the console for the platform's login, which leads back to this origin. */
export async function beginLogin(): Promise<void> {
  const { url, state, redirect_uri } = await call<OauthUrlResponseDto>("GET", "/api/marketing/oauth/url", {
    query: { redirect_uri: `${location.origin}/console/oauth` },
  });
  storeBegunLogins([...readBegunLogins(), { state, redirect_uri }]);
  location.assign(url);
}

/** Returns the address to which the login of this state leads, once: a code can be exchanged once. */
export function takeRedirectUri(state: string): string | undefined {
  const logins = readBegunLogins();
  const begun = logins.find((login) => login.state === state);
  storeBegunLogins(logins.map((login) => (login === begun ? { ...login, isTaken: true } : login)));
  return begun?.isTaken ? undefined : begun?.redirect_uri;
}

export const exchangeCode = (body: {
  code: string;
  state: string;
  redirect_uri: string;
}): Promise<AdAccountDto[]> => call("POST", "/api/marketing/oauth/exchange", { body });
