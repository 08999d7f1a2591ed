import type { Ground } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { perGround } from "../per-sandbox.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { managing } from "./scopes.ts";

const LONGEST_URI = 200;

/** Where the messages of an account shall go instead. It is kept and shown; the sandbox knows one service only. */
const overridesOf = perGround(() => new Map<string, string>());

/** Whether the app hears of a business account. */
export const subscribedApps = (ground: Ground): Record<string, Edge> => ({
  "POST subscribed_apps": managing((call) => subscribe(ground, call)),
  "GET subscribed_apps": managing(({ node }) => ({
    data: ground.webhooks.isSubscribed(node) ? [app(ground, node)] : [],
  })),
  "DELETE subscribed_apps": managing(({ node }) => {
    ground.webhooks.unsubscribe(node);
    overridesOf(ground).delete(node);
    return { success: true };
  }),
});

function subscribe(ground: Ground, { node, params }: Call): unknown {
  const uri = params.text("override_callback_uri");
  if (uri === undefined) overridesOf(ground).delete(node);
  else {
    if (uri.length > LONGEST_URI || !URL.canParse(uri))
      throw invalidParameter(
        `Param override_callback_uri must be a URL of at most ${LONGEST_URI} characters`,
      );
    params.requiredText("verify_token");
    if (!ground.webhooks.isSubscribed(node))
      throw invalidParameter("Before override the current callback uri, your app must be subscribed");
    overridesOf(ground).set(node, uri);
  }
  ground.webhooks.subscribe(node);
  return { success: true };
}

function app(ground: Ground, waba: string): unknown {
  const id = ground.settings.PLATFORM_APP_ID;
  const uri = overridesOf(ground).get(waba);
  return {
    whatsapp_business_api_data: { id, name: "Herald", link: `https://www.facebook.com/games/?app_id=${id}` },
    ...(uri === undefined ? {} : { override_callback_uri: uri }),
  };
}
