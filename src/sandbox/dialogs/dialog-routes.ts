import { PAGES, PERSON } from "../built-in-assets.ts";
import { awaitRegistration } from "../chat/numbers.ts";
import type { SandboxContext } from "../context.ts";
import { GraphError } from "../graph/graph-error.ts";
import type { Reply } from "../graph/node.ts";
import type { Params } from "../graph/params.ts";
import type { Agreement } from "../graph/tokens.ts";
import type { SandboxRequest, SandboxRoute } from "../server/routes.ts";
import type { SandboxSettings } from "../settings.ts";
import type { Webhooks } from "../webhooks.ts";
import { type Consent, type Decision, DialogError } from "./consent.ts";
import { oauthConsent, signupConsent } from "./oauth-and-signup.ts";
import { consentView, errorView, redirectBack } from "./views.ts";

interface Dialog {
  path: string;
  read(params: Params, settings: SandboxSettings): Consent;
  /** True when granted assets send no webhooks before the app subscribes to them. */
  isSignup: boolean;
}

/**
 * Only a signup resets subscriptions, because the service subscribes after it. A repeated login keeps them.
 */
const DIALOGS: readonly Dialog[] = [
  { path: "/dialog/oauth", read: oauthConsent, isSignup: false },
  { path: "/dialog/signup", read: signupConsent, isSignup: true },
];

export const DIALOG_PATHS: readonly string[] = DIALOGS.map(({ path }) => path);

interface DialogContext extends Pick<SandboxContext, "settings" | "codes"> {
  webhooks: Pick<Webhooks, "awaitSubscription">;
}

/** The consent pages. */
export const dialogRoutes = (context: DialogContext): SandboxRoute[] =>
  DIALOGS.flatMap((dialog): SandboxRoute[] => [
    {
      method: "GET",
      path: dialog.path,
      answer: withErrorView((request) => showConsent(context, dialog, request)),
    },
    {
      method: "POST",
      path: dialog.path,
      answer: withErrorView((request) => handleDecision(context, dialog, request)),
    },
  ]);

const withErrorView =
  (answer: (request: SandboxRequest) => Reply) =>
  (request: SandboxRequest): Reply => {
    try {
      if (request.bodyError) throw request.bodyError;
      return answer(request);
    } catch (error) {
      if (error instanceof DialogError || error instanceof GraphError) return errorView(error.message);
      throw error;
    }
  };

const showConsent = (
  { settings }: DialogContext,
  { path, read }: Dialog,
  { params }: SandboxRequest,
): Reply => consentView(path, read(params, settings));

function handleDecision(
  context: DialogContext,
  { path, read, isSignup }: Dialog,
  { params, body }: SandboxRequest,
): Reply {
  const consent = read(params, context.settings);
  const decision = readDecision(body);
  if (decision.action === "cancel") return cancelReply(consent);
  if (decision.action !== "grant") throw new DialogError("action must be grant or cancel.");
  if (consent.requiredChoice !== undefined && decision.assets.length === 0)
    return consentView(path, consent, {
      decision,
      problem: `Choose at least one ${consent.requiredChoice}.`,
    });
  const reply = grantReply(context, consent, decision);
  if (isSignup) awaitSignupCompletion(context, decision.assets);
  return reply;
}

/** Suppresses webhooks and sending for these assets until the service has subscribed and registered them. */
function awaitSignupCompletion(context: DialogContext, assets: readonly string[]): void {
  for (const asset of withPhotoAccounts(assets)) {
    context.webhooks.awaitSubscription(asset);
    awaitRegistration(context, asset);
  }
}

/** A page's photo account is subscribed together with its page. */
const withPhotoAccounts = (assets: readonly string[]): string[] =>
  assets.flatMap((asset) => {
    const photoAccount = PAGES.find(({ id }) => id === asset)?.instagram;
    return photoAccount ? [asset, photoAccount.id] : [asset];
  });

/** Parses the form body. Fields can be repeated. */
function readDecision(body: Buffer): Decision {
  const form = new URLSearchParams(body.toString("utf8"));
  const all = (name: string) => [...new Set(form.getAll(name))];
  return {
    action: form.get("action") ?? undefined,
    permissions: all("permission"),
    assets: all("asset"),
    expired: all("expired"),
  };
}

const cancelReply = ({ redirectUri, state }: Consent): Reply =>
  redirectBack(redirectUri, {
    error: "access_denied",
    error_code: "200",
    error_description: "Permissions error",
    error_reason: "user_denied",
    state,
  });

function grantReply({ codes }: Pick<SandboxContext, "codes">, consent: Consent, decision: Decision): Reply {
  const { redirectUri, state } = consent;
  const code = codes.issue({ redirectUri, agreement: toAgreement(consent, decision) });
  return redirectBack(redirectUri, { code, state });
}

function toAgreement(
  { kind, permissions, canDeclinePermissions, choices }: Consent,
  decision: Decision,
): Agreement {
  const { assets, expired } = decision;
  checkOffered(permissions, [...decision.permissions, ...expired], "permission");
  checkOffered(
    choices.map(({ id }) => id),
    assets,
    "asset",
  );
  const ticked = canDeclinePermissions ? decision.permissions : permissions;
  const scopes = permissions.filter((name) => ticked.includes(name) && !expired.includes(name));
  const declined = permissions.filter((name) => !ticked.includes(name) && !expired.includes(name));
  return { kind, user: PERSON.id, scopes, declined, expired, assets };
}

/** Throws for a choice that the page does not offer: the caller is a program with a bug. */
function checkOffered(offered: readonly string[], chosen: readonly string[], label: string): void {
  const unknownChoice = chosen.find((one) => !offered.includes(one));
  if (unknownChoice !== undefined)
    throw new DialogError(`The dialog does not offer this ${label}: ${unknownChoice}`);
}
