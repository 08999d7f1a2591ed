import { APP_NAME, CHAT_SCOPES } from "../built-in-assets.ts";
import type { SandboxSettings } from "../settings.ts";
import type { Params } from "../wire/params.ts";
import { chatChoices, pageChoices } from "./choices.ts";
import { type Consent, DialogRefused } from "./consent.ts";
import { prefilledNotes } from "./prefill.ts";
import { checkApp, kept, permissionsIn } from "./read-request.ts";

const NAMES = [
  "client_id",
  "config_id",
  "redirect_uri",
  "state",
  "response_type",
  "override_default_response_type",
  "scope",
  "extras",
];

/** The signup dialog: with a configuration for chat accounts, with a scope for pages. */
export function signupConsent(params: Params, settings: SandboxSettings): Consent {
  checkApp(params, settings);
  const common = {
    redirectUri: redirectUriIn(params, settings),
    state: params.text("state"),
    hidden: kept(params, NAMES),
  };
  return params.has("config_id")
    ? { ...common, ...chatConsent(params, settings) }
    : { ...common, ...pageConsent(params) };
}

type Own = Omit<Consent, "redirectUri" | "state" | "hidden">;

/** What is granted together here: the configuration names the permissions, and none can be declined. */
function chatConsent(params: Params, { SIGNUP_CONFIG_ID }: SandboxSettings): Own {
  if (params.text("config_id") !== SIGNUP_CONFIG_ID)
    throw new DialogRefused("Invalid config_id: there is no such configuration.");
  if (params.has("scope")) throw new DialogRefused("A config_id and a scope exclude each other.");
  if (params.text("override_default_response_type") !== "true")
    throw new DialogRefused("A code needs override_default_response_type=true.");
  return {
    kind: "business",
    title: `Connect your chat account to ${APP_NAME}`,
    permissions: CHAT_SCOPES,
    isDivisible: false,
    choices: chatChoices,
    chooses: "Which chat accounts",
    needed: "chat account",
    notes: prefilledNotes(params.text("extras")),
  };
}

function pageConsent(params: Params): Own {
  const permissions = permissionsIn(params);
  if (permissions.length === 0) throw new DialogRefused("Either a config_id or a scope is needed.");
  if (params.has("extras")) throw new DialogRefused("Only a signup with a config_id takes extras.");
  return {
    kind: "user",
    title: `Connect your pages to ${APP_NAME}`,
    permissions,
    isDivisible: true,
    choices: pageChoices,
    chooses: "Which pages",
    needed: "page",
    notes: [],
  };
}

/** Signup goes back to one address only, the one that is registered for it. */
function redirectUriIn(params: Params, { PUBLIC_URL }: SandboxSettings): string {
  const [text, registered] = [params.text("redirect_uri"), `${PUBLIC_URL}/embed/callback`];
  if (text === registered) return registered;
  throw new DialogRefused(`URL blocked: the redirect_uri must be exactly ${registered}`);
}
