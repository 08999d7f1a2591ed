import { PAGES } from "../built-in-assets.ts";
import { awaitRegistration } from "../chat/registration.ts";
import type { Ground } from "../context.ts";
import type { Door, DoorRequest } from "../server/route.ts";
import type { SandboxSettings } from "../settings.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { Reply } from "../wire/call.ts";
import { GraphError } from "../wire/graph-error.ts";
import type { Params } from "../wire/params.ts";
import { type Consent, DialogRefused } from "./consent.ts";
import { consentPage } from "./consent-view.ts";
import { cancelled, decisionIn, granted } from "./decide.ts";
import { oauthConsent } from "./oauth.ts";
import { signupConsent } from "./signup.ts";
import { errorPage } from "./view.ts";

interface Dialog {
  path: string;
  read(params: Params, settings: SandboxSettings): Consent;
  /** Assets granted here are silent until the app subscribes to them, so that forgetting it shows. */
  silences: boolean;
}

/** Logging in again leaves subscriptions as they are; a signup is followed by a new one. */
const DIALOGS: readonly Dialog[] = [
  { path: "/dialog/oauth", read: oauthConsent, silences: false },
  { path: "/dialog/signup", read: signupConsent, silences: true },
];

export const DIALOG_PATHS: readonly string[] = DIALOGS.map(({ path }) => path);

interface Needs extends Pick<Ground, "settings" | "codes"> {
  webhooks: Pick<Webhooks, "awaitSubscription">;
}

/** The pages on which a person lets the app in. */
export const dialogDoors = (ground: Needs): Door[] =>
  DIALOGS.flatMap((dialog): Door[] => [
    { method: "GET", path: dialog.path, answer: orErrorPage((request) => shown(ground, dialog, request)) },
    { method: "POST", path: dialog.path, answer: orErrorPage((request) => decided(ground, dialog, request)) },
  ]);

const shown = ({ settings }: Needs, { path, read }: Dialog, { params }: DoorRequest): Reply =>
  consentPage(path, read(params, settings));

function decided(ground: Needs, { path, read, silences }: Dialog, { params, body }: DoorRequest): Reply {
  const consent = read(params, ground.settings);
  const decision = decisionIn(body);
  if (decision.action === "cancel") return cancelled(consent);
  if (decision.action !== "grant") throw new DialogRefused("The action must be grant or cancel.");
  if (consent.needed !== undefined && decision.assets.length === 0)
    return consentPage(path, consent, { decision, problem: `Choose at least one ${consent.needed}.` });
  const reply = granted(ground, consent, decision);
  if (silences) silence(ground, decision.assets);
  return reply;
}

/** Nothing is heard of them, and their numbers send nothing, until the signup's last steps are done. */
function silence(ground: Needs, assets: readonly string[]): void {
  for (const asset of withPhotos(assets)) {
    ground.webhooks.awaitSubscription(asset);
    awaitRegistration(ground, asset);
  }
}

/** A page's photo account is heard of, or not, together with its page. */
const withPhotos = (assets: readonly string[]): string[] =>
  assets.flatMap((asset) => {
    const photos = PAGES.find(({ id }) => id === asset)?.instagram;
    return photos ? [asset, photos.id] : [asset];
  });

const orErrorPage =
  (answer: (request: DoorRequest) => Reply) =>
  (request: DoorRequest): Reply => {
    try {
      if (request.unreadable) throw request.unreadable;
      return answer(request);
    } catch (error) {
      if (error instanceof DialogRefused || error instanceof GraphError) return errorPage(error.message);
      throw error;
    }
  };
