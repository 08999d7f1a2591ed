import { APP_NAME } from "../built-in-assets.ts";
import type { SandboxSettings } from "../settings.ts";
import type { Params } from "../wire/params.ts";
import { adAccountChoices, pageChoices } from "./choices.ts";
import { type Consent, DialogRefused } from "./consent.ts";
import { checkApp, kept, permissionsIn } from "./read-request.ts";

const NAMES = ["client_id", "redirect_uri", "state", "response_type", "scope", "auth_type"];

/** The login dialog: an app asks a person for permissions. */
export function oauthConsent(params: Params, settings: SandboxSettings): Consent {
  checkApp(params, settings);
  // A configuration replaces the scope. The one there is here belongs to the signup.
  if (params.has("config_id")) throw new DialogRefused("This dialog has no such config_id: send a scope.");
  const permissions = permissionsIn(params);
  const asksFor = (start: string) => permissions.some((name) => name.startsWith(start));
  const isAgain = params.text("auth_type") === "rerequest";
  return {
    kind: "user",
    title: `${APP_NAME} asks for access`,
    permissions,
    isDivisible: true,
    choices: [...(asksFor("ads_") ? adAccountChoices : []), ...(asksFor("pages_") ? pageChoices : [])],
    chooses: "Which accounts",
    needed: undefined,
    notes: isAgain ? ["What you declined before, you are asked for again."] : [],
    redirectUri: redirectUriIn(params),
    state: params.text("state"),
    hidden: kept(params, NAMES),
  };
}

const LOCAL = ["localhost", "127.0.0.1"];

function redirectUriIn(params: Params): string {
  const text = params.text("redirect_uri") ?? "";
  if (text === "") throw new DialogRefused("The redirect_uri is missing.");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || text.includes("#"))
    throw new DialogRefused("The redirect_uri must be an absolute URI without a #.");
  if (url.protocol === "https:" || (url.protocol === "http:" && LOCAL.includes(url.hostname))) return text;
  throw new DialogRefused("Insecure login blocked: the redirect_uri must be https, or http on localhost.");
}
