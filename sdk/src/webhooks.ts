import type { Event } from "./generated/types.ts";

export type { Event } from "./generated/types.ts";

/** Headers of the request, as fetch, node:http and express have them. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Why a request is not taken for an event of Herald. */
export type VerificationFailure = "header_missing" | "timestamp_too_far" | "signature_wrong" | "not_an_event";

/** The request is not an event of Herald, or an old one that somebody sends again. Answer it with 400. */
export class WebhookVerificationError extends Error {
  readonly reason: VerificationFailure;

  constructor(reason: VerificationFailure, message: string) {
    super(message);
    this.name = "WebhookVerificationError";
    this.reason = reason;
  }
}

export interface UnwrapOptions {
  /** Maximum difference between the clocks and the age of the attempt; by default 300 seconds. */
  toleranceSeconds?: number;
}

const DEFAULT_TOLERANCE_SECONDS = 300;

/** Herald sends two at most. Each costs a pass over the body before the sender is known. */
const MAX_SIGNATURES = 10;

/**
 * Verifies a request of Herald and returns its event, which `type` narrows. `body` is the raw body, not parsed JSON.
 * Rejects with a WebhookVerificationError. A type that a later version of Herald adds is returned too: ignore it.
 */
export async function unwrap(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS }: UnwrapOptions = {},
): Promise<Event> {
  if (typeof body !== "string" && !(body instanceof Uint8Array))
    throw new TypeError("body must be the raw body as text or bytes: do not parse it before");
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature");
  if (!(Math.abs(Date.now() / 1_000 - Number(timestamp)) <= toleranceSeconds))
    throw new WebhookVerificationError(
      "timestamp_too_far",
      `webhook-timestamp is more than ${toleranceSeconds} seconds away from this clock`,
    );
  // Read the body before the first await: the caller's program may write to the bytes during it.
  const content = contentOf(id, timestamp, body);
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const key = await importKey(secret, "verify");
  for (const signature of signatures.split(" ", MAX_SIGNATURES))
    if (await isValid(key, signature, content)) return readEvent(text);
  throw new WebhookVerificationError("signature_wrong", "webhook-signature does not match: check the secret");
}

export interface SignOptions {
  /** The id of the event; by default the `id` of the payload. */
  id?: string;
  /** When the attempt is made; by default now. */
  timestamp?: Date;
}

/** A request as Herald sends it. */
export interface SignedRequest {
  body: string;
  headers: Record<"content-type" | "webhook-id" | "webhook-timestamp" | "webhook-signature", string>;
}

/** Signs an event like Herald, for tests of your own receiver. A payload that is a text is sent unchanged. */
export async function sign(
  payload: string | object,
  secret: string,
  { id = idOf(payload), timestamp = new Date() }: SignOptions = {},
): Promise<SignedRequest> {
  const body = typeof payload === "string" ? payload : JSON.stringify(payload);
  const seconds = String(Math.floor(timestamp.getTime() / 1_000));
  const key = await importKey(secret, "sign");
  const signature = await crypto.subtle.sign("HMAC", key, contentOf(id, seconds, body));
  return {
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": seconds,
      "webhook-signature": `v1,${toBase64(new Uint8Array(signature))}`,
    },
  };
}

function idOf(payload: string | object): string {
  const { id } = (typeof payload === "string" ? JSON.parse(payload) : payload) as { id?: unknown };
  if (typeof id !== "string") throw new TypeError("the payload has no id: give one in the options");
  return id;
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = isHeaders(headers) ? headers.get(name) : entryOf(headers, name);
  if (value) return value;
  throw new WebhookVerificationError("header_missing", `the request has no ${name} header`);
}

const isHeaders = (headers: WebhookHeaders): headers is { get(name: string): string | null } =>
  typeof headers.get === "function";

function entryOf(headers: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = headers[name] ?? Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === "string" ? value : undefined;
}

const encoder = new TextEncoder();

function contentOf(id: string, timestamp: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(`${id}.${timestamp}.`);
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const content = new Uint8Array(head.length + bytes.length);
  content.set(head);
  content.set(bytes, head.length);
  return content;
}

const GENERATED_SECRET =
  /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))$/;

/** A generated secret contains the key in base64; any other secret is the key. */
async function importKey(secret: string, use: "sign" | "verify"): Promise<CryptoKey> {
  // An attacker can sign with the key that a missing secret would become.
  if (typeof secret !== "string" || secret === "")
    throw new TypeError("secret must be a text that is not empty");
  const encoded = GENERATED_SECRET.exec(secret)?.[1];
  const bytes = (encoded === undefined ? undefined : fromBase64(encoded)) ?? encoder.encode(secret);
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [use]);
}

/** Compares in constant time, as WebCrypto does. */
async function isValid(
  key: CryptoKey,
  signature: string,
  content: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const bytes = signature.startsWith("v1,") ? fromBase64(signature.slice(3)) : undefined;
  return bytes !== undefined && crypto.subtle.verify("HMAC", key, bytes, content);
}

function readEvent(text: string): Event {
  try {
    const event = JSON.parse(text);
    if (typeof event.type === "string") return event;
  } catch {
    // The error below covers this case.
  }
  throw new WebhookVerificationError("not_an_event", "the body is not a JSON object with a type");
}

const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/** Undefined for a text that is not base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
