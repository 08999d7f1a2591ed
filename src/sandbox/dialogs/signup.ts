import { APP_NAME, CHAT_SCOPES } from "../built-in-assets.ts";
import type { SandboxSettings } from "../settings.ts";
import type { Params } from "../wire/params.ts";
import { chatChoices, pageChoices } from "./choices.ts";
import { type Consent, DialogError } from "./consent.ts";
import { prefilledNotes } from "./prefill.ts";
import { checkApp, pickParams, readPermissions } from "./read-request.ts";

const PARAM_NAMES = [
  "client_id",
  "config_id",
  "redirect_uri",
  "state",
  "response_type",
  "override_default_response_type",
  "scope",
  "extras",
];

/** Reads a signup request: with a config_id for chat accounts, with a scope for pages. */
export function signupConsent(params: Params, settings: SandboxSettings): Consent {
  checkApp(params, settings);
  const common = {
    redirectUri: readRedirectUri(params, settings),
    state: params.text("state"),
    hidden: pickParams(params, PARAM_NAMES),
  };
  return params.has("config_id")
    ? { ...common, ...chatConsent(params, settings) }
    : { ...common, ...pageConsent(params) };
}

type ConsentDetails = Omit<Consent, "redirectUri" | "state" | "hidden">;

/** The configuration defines the permissions, and none can be declined. */
function chatConsent(params: Params, { SIGNUP_CONFIG_ID }: SandboxSettings): ConsentDetails {
  if (params.text("config_id") !== SIGNUP_CONFIG_ID)
    throw new DialogError("Invalid config_id: there is no such configuration.");
  if (params.has("scope")) throw new DialogError("Send either a config_id or a scope, not both.");
  if (params.text("override_default_response_type") !== "true")
    throw new DialogError("override_default_response_type must be true.");
  return {
    kind: "business",
    title: `Connect your chat account to ${APP_NAME}`,
    permissions: CHAT_SCOPES,
    canDeclinePermissions: false,
    choices: chatChoices,
    choicesLabel: "Chat accounts",
    requiredChoice: "chat account",
    notes: prefilledNotes(params.text("extras")),
  };
}

function pageConsent(params: Params): ConsentDetails {
  const permissions = readPermissions(params);
  if (permissions.length === 0) throw new DialogError("Send a config_id or a scope.");
  if (params.has("extras")) throw new DialogError("extras require a config_id.");
  return {
    kind: "user",
    title: `Connect your pages to ${APP_NAME}`,
    permissions,
    canDeclinePermissions: true,
    choices: pageChoices,
    choicesLabel: "Pages",
    requiredChoice: "page",
    notes: [],
  };
}

/** Accepts only the redirect_uri that is registered for the signup. */
function readRedirectUri(params: Params, { PUBLIC_URL }: SandboxSettings): string {
  const [text, registered] = [params.text("redirect_uri"), `${PUBLIC_URL}/embed/callback`];
  if (text === registered) return registered;
  throw new DialogError(`URL blocked: the redirect_uri must be exactly ${registered}`);
}
