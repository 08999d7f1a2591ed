import { createHmac, randomInt } from "node:crypto";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/log.ts";
import { APP_NAME } from "./built-in-assets.ts";
import type { Faults } from "./faults.ts";
import { GraphError, invalidParameter } from "./graph/graph-error.ts";
import { escapeNonAscii, toAsciiJson } from "./graph/json.ts";
import type { Call, NodeKind } from "./graph/node.ts";
import { isObject } from "./graph/params.ts";
import { type SandboxSettings, VERSION } from "./settings.ts";

/** The object types that webhooks report on. */
export const WEBHOOK_OBJECTS = [
  "whatsapp_business_account",
  "page",
  "instagram",
  "ad_account",
  "permissions",
  "user",
] as const;

type WebhookObject = (typeof WEBHOOK_OBJECTS)[number];

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

interface OrderParts<W extends object> {
  faults: Pick<Faults, "takeForWebhook">;
  /** Sends one webhook; resolves after the first attempt. */
  deliver(webhook: W): Promise<void>;
  schedule(milliseconds: number, work: () => void): void;
}

/** The longest wait of a webhook for a later one. */
const MAX_REORDER_DELAY_MS = 5 * SECOND;

/**
 * Sends webhooks in order. A `duplicate_webhook` fault sends one twice, a `reorder_webhook` fault delays one
 * until the next is sent.
 */
export function createWebhookOrder<W extends object>(parts: OrderParts<W>): (webhook: W) => void {
  const { faults, deliver, schedule } = parts;
  const delayed = new Set<W>();
  const sendDelayed = async (webhooks: readonly W[]) => {
    for (const webhook of webhooks) delayed.delete(webhook);
    for (const webhook of webhooks) await deliver(webhook);
  };
  const sendNow = async (webhook: W) => {
    const isDuplicated = faults.takeForWebhook("duplicate_webhook");
    await deliver(webhook);
    if (isDuplicated) await deliver(webhook);
    await sendDelayed([...delayed].reverse());
  };
  return (webhook) => {
    if (!faults.takeForWebhook("reorder_webhook")) return void sendNow(webhook);
    delayed.add(webhook);
    // Sends only this webhook: the others were delayed later and have their own timers.
    schedule(MAX_REORDER_DELAY_MS, () => void sendDelayed(delayed.has(webhook) ? [webhook] : []));
  };
}

interface Subscription {
  object: string;
  callback_url: string;
  fields: readonly { name: string; version: string }[];
  active: true;
}

interface AppParts {
  settings: SandboxSettings;
  webhooks: Webhooks;
}

/** The app node: its name and its webhook subscriptions. */
export function appKinds({ settings, webhooks }: AppParts): NodeKind[] {
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

interface Handshake {
  callbackUrl: string;
  verifyToken: string;
}

/** Verifies a webhook receiver: it must echo the challenge, which it does only for the right verify token. */
async function verifyCallback({ callbackUrl, verifyToken }: Handshake): Promise<void> {
  const challenge = String(randomInt(1_000_000_000, 2_000_000_000));
  const url = new URL(callbackUrl);
  url.searchParams.set("hub.mode", "subscribe");
  url.searchParams.set("hub.challenge", challenge);
  url.searchParams.set("hub.verify_token", verifyToken);
  const { status, text } = await requestChallenge(url);
  if (status !== 200) throw notVerified(`HTTP Status Code = ${status}`);
  if (text !== challenge) throw notVerified("Response does not match challenge");
}

async function requestChallenge(url: URL): Promise<{ status: number; text: string }> {
  try {
    const answer = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(10 * SECOND) });
    return { status: answer.status, text: await answer.text() };
  } catch {
    throw notVerified("No answer");
  }
}

const notVerified = (reason: string): GraphError =>
  new GraphError(2200, `(#2200) Callback verification failed with the following errors: ${reason}`);

/** A message from a person to one of the channels. */
export interface InboundMessage {
  /** The id of a phone number, page or photo account. */
  channel: string;
  from: string;
  type: string;
  /** The value under the type's key; generated when absent. */
  content?: unknown;
}

/** A platform that receives messages for its channels. */
export interface InboundSource {
  hasChannel(channel: string): boolean;
  /**
   * Builds the webhook for the message; undefined when the app is not subscribed to it. Throws a GraphError
   * for an invalid message.
   */
  receive(message: InboundMessage): Webhook | undefined;
}

/** Reads the content of an inbound message that must be an object; empty when it is absent. */
export function contentObjectOf({ content }: Pick<InboundMessage, "content">): Record<string, unknown> {
  if (content === undefined || content === null) return {};
  if (!isObject(content)) throw invalidParameter("content must be an object");
  return content;
}
