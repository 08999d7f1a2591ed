import type { EventKey, EventType } from "../schema/enumerations.ts";
import type { SecretBox } from "../security/secret-box.ts";
import { openWebhookTokens, type SealedTokens } from "../security/webhook-tokens.ts";
import { addressOf } from "./endpoints.ts";
import type { EventPoster, PostControl, PostedEvent } from "./post-event.ts";
import { attemptHeaders } from "./signature.ts";

export interface AttemptParts {
  secretBox: SecretBox;
  poster: EventPoster;
}

/** A client's base address and sealed tokens, from its row of webhook_configs. */
export interface WebhookTarget extends SealedTokens {
  webhook_url: string;
  token_header: boolean;
}

/** An event as one attempt sends it. */
export interface OutgoingEvent {
  id: string;
  type: EventType;
  /** Null for a test event that goes to the base address. */
  key: EventKey | null;
  /** The body, sent byte for byte. */
  payload: string;
  /** Counted from 1. */
  attempt: number;
}

export interface PreparedAttempt {
  /** The address of the event below the client's base address. */
  url: string;
  /** Signs the event with the current time and posts it once. */
  send(control?: PostControl): Promise<PostedEvent>;
}

/**
 * Determines the address and decrypts the tokens; throws when no key decrypts them. Sending is a separate step, because
 * a test event is recorded with its address in between.
 */
export function prepareAttempt(
  { secretBox, poster }: AttemptParts,
  target: WebhookTarget,
  event: OutgoingEvent,
): PreparedAttempt {
  const { id, type, key, payload, attempt } = event;
  const tokens = openWebhookTokens(target, secretBox);
  const isTokenSent = target.token_header;
  const url = addressOf(target.webhook_url, key, type);
  return {
    url,
    send(control) {
      const headers = attemptHeaders({ id, type, payload, attempt, tokens, isTokenSent, at: new Date() });
      return poster.post({ url, headers, body: payload, token: tokens.current }, control);
    },
  };
}
