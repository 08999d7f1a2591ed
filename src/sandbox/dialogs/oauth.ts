import { APP_NAME } from "../built-in-assets.ts";
import type { SandboxSettings } from "../settings.ts";
import type { Params } from "../wire/params.ts";
import { adAccountChoices, pageChoices } from "./choices.ts";
import { type Consent, DialogError } from "./consent.ts";
import { checkApp, pickParams, readPermissions } from "./read-request.ts";

const PARAM_NAMES = ["client_id", "redirect_uri", "state", "response_type", "scope", "auth_type"];

/** Reads a login request, in which an app asks a person for permissions. */
export function oauthConsent(params: Params, settings: SandboxSettings): Consent {
  checkApp(params, settings);
  // A configuration would replace the scope, but the sandbox has one only for the signup dialog.
  if (params.has("config_id"))
    throw new DialogError("This dialog does not support config_id: send a scope instead.");
  const permissions = readPermissions(params);
  const hasPermission = (prefix: string) => permissions.some((name) => name.startsWith(prefix));
  const isRerequest = params.text("auth_type") === "rerequest";
  return {
    kind: "user",
    title: `${APP_NAME} requests access`,
    permissions,
    canDeclinePermissions: true,
    choices: [
      ...(hasPermission("ads_") ? adAccountChoices : []),
      ...(hasPermission("pages_") ? pageChoices : []),
    ],
    choicesLabel: "Accounts",
    requiredChoice: undefined,
    notes: isRerequest ? ["This request includes permissions that you declined before."] : [],
    redirectUri: readRedirectUri(params),
    state: params.text("state"),
    hidden: pickParams(params, PARAM_NAMES),
  };
}

const LOCAL_HOSTS = ["localhost", "127.0.0.1"];

function readRedirectUri(params: Params): string {
  const text = params.text("redirect_uri") ?? "";
  if (text === "") throw new DialogError("The redirect_uri is missing.");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || text.includes("#"))
    throw new DialogError("The redirect_uri must be an absolute URI without a #.");
  if (url.protocol === "https:" || (url.protocol === "http:" && LOCAL_HOSTS.includes(url.hostname)))
    return text;
  throw new DialogError("Insecure login blocked: the redirect_uri must be https, or http on localhost.");
}
