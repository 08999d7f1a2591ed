import { createHmac } from "node:crypto";
import { SECOND } from "../runtime/durations.ts";
import { packageVersion } from "../runtime/package-root.ts";
import type { WebhookTokens } from "./sealed-tokens.ts";

interface RequestToSign {
  /** The event's id, the same on every attempt. */
  id: string;
  type: string;
  /** The body, sent byte for byte. */
  payload: string;
  /** Counted from 1. */
  attempt: number;
  tokens: WebhookTokens;
  /** Whether the request carries the current token itself, beside the signature. */
  isTokenSent: boolean;
  /** Time of the attempt. */
  at: Date;
}

/** Returns the headers of Standard Webhooks 1.0, the token, the event's type and the attempt's number. */
export function attemptHeaders(attempt: RequestToSign): Record<string, string> {
  const { id, type, tokens, isTokenSent } = attempt;
  const timestamp = String(Math.floor(attempt.at.getTime() / SECOND));
  const content = `${id}.${timestamp}.${attempt.payload}`;
  return {
    ...eventHeaders({ id, type }),
    "user-agent": userAgent(),
    "webhook-timestamp": timestamp,
    ...(tokens.current === undefined ? {} : { "webhook-signature": signaturesOf(content, tokens) }),
    ...(tokens.current !== undefined && isTokenSent ? { "x-webhook-token": tokens.current } : {}),
    "x-webhook-attempt": String(attempt.attempt),
  };
}

/** The headers that are the same on every attempt to deliver an event. */
export const eventHeaders = ({ id, type }: Pick<RequestToSign, "id" | "type">): Record<string, string> => ({
  "content-type": "application/json",
  "webhook-id": id,
  "x-webhook-event": type,
});

/** The current token's signature comes first, because some receivers check only the first. */
const signaturesOf = (content: string, { current, former }: WebhookTokens): string =>
  [current, former]
    .filter((token) => token !== undefined)
    .map((token) => `v1,${createHmac("sha256", keyOf(token)).update(content).digest("base64")}`)
    .join(" ");

const PREFIXED_BASE64 =
  /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))$/;

/** A token in the standard's format contains the key in base64; any other token is the key. */
function keyOf(token: string): Buffer {
  const encoded = PREFIXED_BASE64.exec(token)?.[1];
  return encoded === undefined ? Buffer.from(token) : Buffer.from(encoded, "base64");
}

let cachedUserAgent: string | undefined;

function userAgent(): string {
  cachedUserAgent ??= `Herald/${packageVersion()}`;
  return cachedUserAgent;
}
