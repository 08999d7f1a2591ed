import { APP_NAME, CHAT_SCOPES } from "../built-in-assets.ts";
import { isObject, type Params } from "../graph/params.ts";
import type { SandboxSettings } from "../settings.ts";
import {
  adAccountChoices,
  type Consent,
  chatChoices,
  DialogError,
  PERMISSIONS,
  pageChoices,
} from "./consent.ts";

const OAUTH_PARAM_NAMES = ["client_id", "redirect_uri", "state", "response_type", "scope", "auth_type"];

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
    redirectUri: readSecureRedirectUri(params),
    state: params.text("state"),
    hidden: pickParams(params, OAUTH_PARAM_NAMES),
  };
}

const LOCAL_HOSTS = ["localhost", "127.0.0.1"];

function readSecureRedirectUri(params: Params): string {
  const text = params.text("redirect_uri") ?? "";
  if (text === "") throw new DialogError("The redirect_uri is missing.");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || text.includes("#"))
    throw new DialogError("The redirect_uri must be an absolute URI without a #.");
  if (url.protocol === "https:" || (url.protocol === "http:" && LOCAL_HOSTS.includes(url.hostname)))
    return text;
  throw new DialogError("Insecure login blocked: the redirect_uri must be https, or http on localhost.");
}

const SIGNUP_PARAM_NAMES = [
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
    redirectUri: readRegisteredRedirectUri(params, settings),
    state: params.text("state"),
    hidden: pickParams(params, SIGNUP_PARAM_NAMES),
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
function readRegisteredRedirectUri(params: Params, { PUBLIC_URL }: SandboxSettings): string {
  const [text, registered] = [params.text("redirect_uri"), `${PUBLIC_URL}/embed/callback`];
  if (text === registered) return registered;
  throw new DialogError(`URL blocked: the redirect_uri must be exactly ${registered}`);
}

type JsonObject = Record<string, unknown>;

/** Formats the values that the app prefilled for the person. */
function prefilledNotes(extras: string | undefined): string[] {
  if (extras === undefined) return [];
  const setup = objectAt(parseExtras(extras), "setup");
  const [business, phone] = [objectAt(setup, "business"), objectAt(setup, "phone")];
  return [
    ...note("Business", business.name),
    ...note("Email", business.email),
    ...note("Website", business.website),
    ...note("Display name", phone.displayName),
    ...note("Category", phone.category),
  ];
}

function parseExtras(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // reported below
  }
  throw new DialogError("extras must be a JSON object.");
}

function objectAt(parent: JsonObject, name: string): JsonObject {
  const value = parent[name] ?? {};
  if (!isObject(value)) throw new DialogError(`In extras, ${name} must be an object.`);
  return value;
}

function note(label: string, value: unknown): string[] {
  if (value === undefined || value === null || value === "") return [];
  if (typeof value !== "string") throw new DialogError(`In extras, ${label} must be a string.`);
  return [`${label}: ${value}`];
}

/** Checks the parameters that all dialogs share. */
function checkApp(params: Params, { PLATFORM_APP_ID }: SandboxSettings): void {
  if (params.text("client_id") !== PLATFORM_APP_ID)
    throw new DialogError("Invalid App ID: the client_id is not that of a known app.");
  if (params.text("response_type") !== "code") throw new DialogError("The response_type must be code.");
}

/** Returns the requested permissions without duplicates. */
function readPermissions(params: Params): string[] {
  const requested = [...new Set((params.text("scope") ?? "").split(",").map((word) => word.trim()))];
  const permissions = requested.filter((word) => word !== "");
  const unknownScopes = permissions.filter((name) => !Object.hasOwn(PERMISSIONS, name));
  if (unknownScopes.length > 0) throw new DialogError(`Invalid Scopes: ${unknownScopes.join(", ")}`);
  return permissions;
}

/** Returns the named parameters that are present, unchanged. */
const pickParams = (params: Params, names: readonly string[]): Map<string, string> =>
  new Map(
    names.flatMap((name) => {
      const value = params.text(name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
