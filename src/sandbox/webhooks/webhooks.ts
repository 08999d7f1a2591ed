import { createHmac } from "node:crypto";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { Faults } from "../faults/faults.ts";
import type { SandboxSettings } from "../settings.ts";
import { escapeNonAscii, toAsciiJson } from "../wire/json.ts";
import { createWebhookOrder } from "./webhook-order.ts";

/** What webhooks can be about. */
export const WEBHOOK_OBJECTS = [
  "whatsapp_business_account",
  "page",
  "instagram",
  "ad_account",
  "permissions",
  "user",
] as const;

export type WebhookObject = (typeof WEBHOOK_OBJECTS)[number];

/** What the platform tells the service, in its own words. */
export interface Webhook {
  object: WebhookObject;
  entry: readonly { id: string; [field: string]: unknown }[];
}

export interface Webhooks {
  /**
   * Sends it, and again until it is taken. Nothing is sent for an asset that the app has not subscribed to; answers
   * whether anything was.
   */
  send(webhook: Webhook): boolean;
  /** Sends this JSON about an object to whom it may concern, subscribed or not. */
  sendRaw(object: WebhookObject, json: string): void;
  /** An asset that was just granted is silent until the app subscribes to it. */
  awaitSubscription(asset: string): void;
  subscribe(asset: string): void;
  unsubscribe(asset: string): void;
  isSubscribed(asset: string): boolean;
  /** From now on webhooks about this object go there. */
  setCallbackUrl(object: WebhookObject, address: string): void;
}

interface WebhookOptions {
  settings: SandboxSettings;
  faults: Pick<Faults, "takeForWebhook">;
  log: Log;
  schedule(milliseconds: number, work: () => void): void;
}

/** A webhook as it is sent. */
interface OutgoingWebhook {
  object: WebhookObject;
  body: string;
}

/** After each refusal; the platform goes on for days, with growing pauses. */
const RETRY_DELAYS_MS = [1 * SECOND, 5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE];

export function createWebhooks({ settings, faults, log, schedule }: WebhookOptions): Webhooks {
  const unsubscribed = new Set<string>();
  const addresses = new Map<WebhookObject, string>();
  const addressOf = (object: WebhookObject) =>
    addresses.get(object) ?? `${settings.PUBLIC_URL}/platform/webhook`;
  const attempt = async (webhook: OutgoingWebhook, tries: number): Promise<void> => {
    const { object, body } = webhook;
    const began = Date.now();
    const outcome = await post(addressOf(object), body, settings.PLATFORM_APP_SECRET);
    log.info("webhook.sent", { outcome, try: tries + 1, bytes: body.length, ms: Date.now() - began });
    const retryDelayMs = RETRY_DELAYS_MS[tries];
    if (outcome !== 200 && retryDelayMs !== undefined)
      schedule(retryDelayMs, () => void attempt(webhook, tries + 1));
  };
  const dispatch = createWebhookOrder<OutgoingWebhook>({
    faults,
    schedule,
    deliver: (webhook) => attempt(webhook, 0),
  });
  return {
    send({ object, entry }) {
      const subscribedEntries = entry.filter(({ id }) => !unsubscribed.has(id));
      if (subscribedEntries.length > 0)
        dispatch({ object, body: toAsciiJson({ object, entry: subscribedEntries }) });
      return subscribedEntries.length > 0;
    },
    sendRaw: (object, json) => dispatch({ object, body: escapeNonAscii(json) }),
    awaitSubscription: (asset) => void unsubscribed.add(asset),
    subscribe: (asset) => void unsubscribed.delete(asset),
    unsubscribe: (asset) => void unsubscribed.add(asset),
    isSubscribed: (asset) => !unsubscribed.has(asset),
    setCallbackUrl: (object, address) => void addresses.set(object, address),
  };
}

/** The status of the answer, or why there was none. */
async function post(address: string, body: string, secret: string): Promise<number | string> {
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  try {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json", "x-hub-signature-256": `sha256=${signature}` },
      body,
      signal: AbortSignal.timeout(10 * SECOND),
      redirect: "manual",
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch (error) {
    return error instanceof Error && error.name === "TimeoutError" ? "timeout" : "unreachable";
  }
}
