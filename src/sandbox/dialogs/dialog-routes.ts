import { PAGES } from "../built-in-assets.ts";
import { awaitRegistration } from "../chat/registration.ts";
import type { SandboxContext } from "../context.ts";
import type { SandboxRequest, SandboxRoute } from "../server/route.ts";
import type { SandboxSettings } from "../settings.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { Reply } from "../wire/call.ts";
import { GraphError } from "../wire/graph-error.ts";
import type { Params } from "../wire/params.ts";
import { type Consent, DialogError } from "./consent.ts";
import { consentView } from "./consent-view.ts";
import { cancelReply, grantReply, readDecision } from "./decide.ts";
import { oauthConsent } from "./oauth.ts";
import { signupConsent } from "./signup.ts";
import { errorView } from "./view.ts";

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
