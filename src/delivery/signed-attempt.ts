import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/log.ts";
import type { EventKey, EventType } from "../schema/enumerations.ts";
import { openWebhookTokens, type SealedTokens } from "../security/sealed-tokens.ts";
import type { SecretBox } from "../security/secret-box.ts";
import { attemptHeaders } from "../security/webhook-signature.ts";
import type { EventPoster, PostControl, PostedEvent } from "./post-event.ts";
import { addressOf } from "./webhook-address.ts";

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
  /** The same on every attempt. */
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
  const { key, ...attempt } = event;
  const tokens = openWebhookTokens(target, secretBox);
  const isTokenSent = target.token_header;
  const url = addressOf(target.webhook_url, key, attempt.type);
  return {
    url,
    send(control) {
      const headers = attemptHeaders({ ...attempt, tokens, isTokenSent, at: new Date() });
      return poster.post({ url, headers, body: attempt.payload, token: tokens.current }, control);
    },
  };
}

/** Log fields of one attempt. They contain neither the payload nor the token. */
export interface LoggedAttempt {
  client: string;
  /** The outbound message that the event is about. */
  messageId?: string | null;
  eventId: string;
  type: string;
  key: string | null;
  attempt: number;
  outcome: string;
  /** State of the delivery after the attempt. */
  state: string;
  status: number | null;
  error: string | null;
  /** Milliseconds until the next attempt; null when there is none. */
  retryIn: number | null;
  durationMs: number;
  /** Set when the request could not be built. */
  fault?: Error | undefined;
}

export function logAttempt(log: Log, attempt: LoggedAttempt): void {
  const { client, messageId, eventId, type, key, outcome, state, status, error, retryIn, durationMs, fault } =
    attempt;
  log[fault ? "error" : "info"]("delivery.attempted", {
    client,
    message_id: messageId,
    event_id: eventId,
    type,
    key,
    attempt: attempt.attempt,
    outcome,
    state,
    status,
    error,
    retry_in: retryIn === null ? null : Math.round(retryIn / SECOND),
    ...(fault ? { err: fault } : {}),
    ms: durationMs,
  });
}
