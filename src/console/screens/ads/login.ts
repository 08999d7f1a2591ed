import type { AdAccountDto, OauthUrlResponseDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";

/** The login at the ad platform that this browser has begun last. */
type BegunLogin = Pick<OauthUrlResponseDto, "state" | "redirect_uri">;

/** The view at /console/oauth reads it under this name, and hands over to the console when its state returns. */
const BEGUN_LOGIN = "herald-ads-login";

/** Leaves the console for the platform's login, which leads back to this origin. */
export async function beginLogin(): Promise<void> {
  const { url, state, redirect_uri } = await call<OauthUrlResponseDto>("GET", "/api/marketing/oauth/url", {
    query: { redirect_uri: `${location.origin}/console/oauth` },
  });
  localStorage.setItem(BEGUN_LOGIN, JSON.stringify({ state, redirect_uri } satisfies BegunLogin));
  location.assign(url);
}

/** Returns the address to which the login of this state leads, once: a code can be exchanged once. */
export function takeRedirectUri(state: string | undefined): string | undefined {
  try {
    const begun = JSON.parse(localStorage.getItem(BEGUN_LOGIN) ?? "null") as BegunLogin | null;
    if (begun === null || begun.state !== state) return undefined;
    localStorage.removeItem(BEGUN_LOGIN);
    return begun.redirect_uri;
  } catch {
    return undefined; // the browser allows no storage
  }
}

export const exchangeCode = (body: {
  code: string;
  state: string;
  redirect_uri: string;
}): Promise<AdAccountDto[]> => call("POST", "/api/marketing/oauth/exchange", { body });
