import { APP_NAME } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import { VERSION } from "../settings.ts";
import { WEBHOOK_OBJECTS, type WebhookObject } from "../webhooks/webhooks.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { verifyCallback } from "./handshake.ts";

interface Subscription {
  object: string;
  callback_url: string;
  fields: readonly { name: string; version: string }[];
  active: true;
}

/** The app node: its name and its webhook subscriptions. */
export function appKinds({ settings, webhooks }: SandboxContext): NodeKind[] {
  const subscriptions = new Map<string, Subscription>();

  async function subscribe({ params }: Call): Promise<{ success: true }> {
    const object = readWebhookObject(params.requiredText("object"));
    const callbackUrl = readCallbackUrl(params.requiredText("callback_url"));
    const fields = (params.words("fields") ?? []).map((name) => ({ name, version: VERSION }));
    await verifyCallback({ callbackUrl, verifyToken: params.requiredText("verify_token") });
    subscriptions.set(object, { object, callback_url: callbackUrl, fields, active: true });
    webhooks.setCallbackUrl(object, callbackUrl);
    return { success: true };
  }

  return [
    {
      name: "app",
      owns: (node) => node === settings.PLATFORM_APP_ID,
      edges: {
        GET: {
          token: "app",
          answer: ({ node, address }) => ({
            id: node,
            name: APP_NAME,
            link: new URL("/_sandbox", address).href,
          }),
        },
        "GET subscriptions": { token: "app", answer: () => ({ data: [...subscriptions.values()] }) },
        "POST subscriptions": { token: "app", answer: subscribe },
      },
    },
  ];
}

function readWebhookObject(object: string): WebhookObject {
  const found = WEBHOOK_OBJECTS.find((known) => known === object);
  if (found) return found;
  throw invalidParameter(`Param object must be one of {${WEBHOOK_OBJECTS.join(", ")}}`);
}

function readCallbackUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw invalidParameter("Param callback_url must be a valid URL");
}
