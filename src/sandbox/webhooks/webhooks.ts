import { createHmac } from "node:crypto";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { Faults } from "../faults/faults.ts";
import type { SandboxSettings } from "../settings.ts";
import { escapeNonAscii, toAsciiJson } from "../wire/json.ts";
import { createWebhookOrder } from "./webhook-order.ts";

/** The object types that webhooks report on. */
export const WEBHOOK_OBJECTS = [
  "whatsapp_business_account",
  "page",
  "instagram",
  "ad_account",
  "permissions",
  "user",
] as const;

export type WebhookObject = (typeof WEBHOOK_OBJECTS)[number];

/** A webhook of the platform, before it is serialised. */
export interface Webhook {
  object: WebhookObject;
  entry: readonly { id: string; [field: string]: unknown }[];
}

export interface Webhooks {
  /**
   * Sends the webhook and retries it until it is accepted or the retries are used up. Skips entries of
   * unsubscribed assets; returns false when no entry is left.
   */
  send(webhook: Webhook): boolean;
  /** Sends this JSON to the object's callback URL, regardless of subscriptions. */
  sendRaw(object: WebhookObject, json: string): void;
  /** Suppresses webhooks of a newly granted asset until the app subscribes to it. */
  awaitSubscription(asset: string): void;
  subscribe(asset: string): void;
  unsubscribe(asset: string): void;
  isSubscribed(asset: string): boolean;
  /** Sends webhooks about this object to the address from now on. */
  setCallbackUrl(object: WebhookObject, address: string): void;
}

interface WebhookOptions {
  settings: SandboxSettings;
  faults: Pick<Faults, "takeForWebhook">;
  log: Log;
  schedule(milliseconds: number, work: () => void): void;
}

/** A serialised webhook. */
interface OutgoingWebhook {
  object: WebhookObject;
  body: string;
}

/** Delay before each retry. The real platforms retry for days. */
const RETRY_DELAYS_MS = [1 * SECOND, 5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE];

/** Every asset is subscribed until `awaitSubscription` or `unsubscribe` suppresses it; `subscribe` ends that. */
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

/** Returns the status of the answer, or the reason why there is none. */
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
