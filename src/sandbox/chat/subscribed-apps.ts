import type { SandboxContext } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { perSandbox } from "../per-sandbox.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { managementEdge } from "./edges.ts";

const MAX_URI_LENGTH = 200;

/** Callback URLs per business account, stored and shown but not used: there is only one service. */
const overridesOf = perSandbox(() => new Map<string, string>());

/** Edges that manage the app's subscription to a business account. */
export const subscribedApps = (context: SandboxContext): Record<string, Edge> => ({
  "POST subscribed_apps": managementEdge((call) => subscribe(context, call)),
  "GET subscribed_apps": managementEdge(({ node }) => ({
    data: context.webhooks.isSubscribed(node) ? [toSubscribedApp(context, node)] : [],
  })),
  "DELETE subscribed_apps": managementEdge(({ node }) => {
    context.webhooks.unsubscribe(node);
    overridesOf(context).delete(node);
    return { success: true };
  }),
});

function subscribe(context: SandboxContext, { node, params }: Call): unknown {
  const uri = params.text("override_callback_uri");
  if (uri === undefined) overridesOf(context).delete(node);
  else {
    if (uri.length > MAX_URI_LENGTH || !URL.canParse(uri))
      throw invalidParameter(
        `Param override_callback_uri must be a URL of at most ${MAX_URI_LENGTH} characters`,
      );
    params.requiredText("verify_token");
    if (!context.webhooks.isSubscribed(node))
      throw invalidParameter("Before override the current callback uri, your app must be subscribed");
    overridesOf(context).set(node, uri);
  }
  context.webhooks.subscribe(node);
  return { success: true };
}

function toSubscribedApp(context: SandboxContext, waba: string): unknown {
  const id = context.settings.PLATFORM_APP_ID;
  const uri = overridesOf(context).get(waba);
  return {
    whatsapp_business_api_data: { id, name: "Herald", link: `https://www.facebook.com/games/?app_id=${id}` },
    ...(uri === undefined ? {} : { override_callback_uri: uri }),
  };
}
