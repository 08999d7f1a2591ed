import type { ErrorCode } from "../api-error.ts";

/** What a developer should know of an error code: when it comes, and what its body looks like then. */
export interface ErrorNote {
  when: string;
  message: string;
  /** Fields beside `error`, `message` and `request_id`. */
  fields?: Readonly<Record<string, unknown>>;
}

const problem = (path: string, message: string) => ({ details: [{ path, message }] });

const platformErrorFields = (retryable: boolean, code: number, type: string, message: string) => ({
  retryable,
  platform_error: { code, type, message, trace_id: "AqWvR3m0x8PZ1nT5kYcB7dL" },
});

export const ERROR_NOTES: Readonly<Record<ErrorCode, ErrorNote>> = {
  validation_failed: {
    when: "A parameter, a field or the body is wrong, or not known here; `details` names each problem.",
    message: "limit must be <= 100",
    fields: problem("/limit", "limit must be <= 100"),
  },
  unknown_dispatch_key: {
    when: "The dispatch key is not one that your webhook configuration names.",
    message: 'There is no dispatch key "billing"',
  },
  terms_version_not_current: {
    when: "The version of the terms is not the one in force.",
    message: "The terms in force are version 2026-10-01",
    fields: {
      ...problem("/version", "The terms in force are version 2026-10-01"),
      current_version: "2026-10-01",
    },
  },
  missing_permission: {
    when: "The person did not grant `ads_management` in the ad platform's dialog: `missing` lists every permission that was asked for and not granted. Without `missing`: the state is not good for this client and redirect_uri, has expired or was used.",
    message: "The permission ads_management was not granted",
    fields: { missing: ["ads_management"] },
  },
  invalid_image: { when: "The image is not plain base64.", message: "The image is not valid base64" },
  unsupported_message_type: {
    when: "The channel's platform has no message of this type.",
    message: "A channel of photoapp cannot send a document",
  },
  invalid_recipient: {
    when: "The recipient is not written as the channel's platform writes it.",
    message: "to must be the number without a leading +",
    fields: problem("/to", "to must be the number without a leading +"),
  },
  platform_invalid_request: {
    when: "The platform refused the content of the request; `platform_error` has its own words.",
    message: "The budget is below the least that the platform takes",
    fields: platformErrorFields(false, 100, "OAuthException", "Invalid parameter"),
  },
  ambiguous_credentials: {
    when: "The request carries a user token and an API key.",
    message: "Send a user token or an API key, not both on one request",
  },
  unauthorized: {
    when: "The credential is missing, unknown, expired or revoked.",
    message: "The credential is unknown, expired or revoked",
  },
  insufficient_scope: {
    when: "The credential is good but lacks the scope in `required_scope`.",
    message: "This needs the scope marketing:manage",
    fields: { required_scope: "marketing:manage" },
  },
  invalid_verify_token: {
    when: "The handshake does not carry the token agreed with the platform.",
    message: "The verify token is not the one agreed on",
  },
  terms_not_accepted: {
    when: "The client has not accepted the terms in `current_version` yet.",
    message: "The terms of version 2026-10-01 must be accepted first",
    fields: { current_version: "2026-10-01" },
  },
  console_only: {
    when: "An API key was used where only a person may act.",
    message: "This is for people signed in to the console, not for API keys",
  },
  role_insufficient: {
    when: "The user's role does not allow it.",
    message: "This needs the role owner or admin",
  },
  platform_permission_denied: {
    when: "The platform does not allow it with the permissions that were granted.",
    message: "The platform denies this to the connected account",
    fields: platformErrorFields(false, 200, "OAuthException", "Permissions error"),
  },
  platform_policy_blocked: {
    when: "The platform blocks the account or the content for its policies.",
    message: "The platform blocks this action for now",
    fields: platformErrorFields(false, 368, "OAuthException", "The action has been blocked"),
  },
  not_found: {
    when: "There is no such object, or it belongs to another client.",
    message: "There is no such object",
  },
  platform_object_not_found: {
    when: "The platform does not know the object, or no longer.",
    message: "The platform has no such object",
    fields: platformErrorFields(false, 803, "OAuthException", "Some of the aliases do not exist"),
  },
  method_not_allowed: {
    when: "The address takes other methods; `Allow` lists them.",
    message: "PUT is not possible here, only GET, HEAD",
  },
  idempotency_in_progress: {
    when: "A request with the same Idempotency-Key is still at work.",
    message: "A request with this Idempotency-Key is still at work",
  },
  ad_account_not_active: {
    when: "The ad account is not active.",
    message: "The ad account must be active for this",
  },
  ad_account_revoked: {
    when: "The access to the ad account was withdrawn; it must be connected again.",
    message: "The access to this ad account was withdrawn",
  },
  invalid_state_transition: {
    when: "The object cannot go from the state it has to the one asked for.",
    message: "That is not possible in the state it is in",
  },
  channel_disconnected: {
    when: "The channel is not connected, or must be authorised again.",
    message: "The channel is not connected",
  },
  channel_taken: {
    when: "The number, page or account is connected elsewhere.",
    message: "This number is connected to another channel",
  },
  session_not_revocable: {
    when: "The session is completed or expired.",
    message: "A completed session cannot be revoked",
  },
  webhook_not_configured: {
    when: "No webhook address is set.",
    message: "Set webhook_url before sending a test event",
  },
  session_gone: {
    when: "The session is completed, expired or revoked.",
    message: "This link has been used or has expired",
  },
  payload_too_large: {
    when: "The body is larger than this endpoint takes.",
    message: "The body is larger than 10485760 bytes",
  },
  image_too_large: {
    when: "The image is too large.",
    message: "The image is larger than the platform takes",
  },
  unsupported_media_type: {
    when: "The Content-Type is not taken here, or the body is compressed.",
    message: "The body must not be compressed",
  },
  idempotency_key_reused: {
    when: "The Idempotency-Key was used before with other content.",
    message: "This Idempotency-Key belongs to a request with other content",
  },
  rate_limited: {
    when: "The client has used up its requests, or somebody has failed too often to sign in; try again after `Retry-After` seconds.",
    message: "More than 12000 requests in a minute",
  },
  platform_rate_limited: {
    when: "The platform takes no more calls for now; try again after `Retry-After` seconds.",
    message: "The platform takes no more calls for this account at the moment",
    fields: platformErrorFields(true, 17, "OAuthException", "User request limit reached"),
  },
  internal_error: {
    when: "A fault on our side; tell us the `request_id`.",
    message: "Something went wrong on our side",
  },
  platform_unavailable: {
    when: "The platform does not answer properly.",
    message: "The platform is not available at the moment",
    fields: { retryable: true },
  },
  overloaded: {
    when: "The service has more work than it can take; try again after `Retry-After` seconds.",
    message: "There is too much to do at the moment, please try again",
  },
  temporarily_unavailable: {
    when: "The service cannot reach its database; try again after `Retry-After` seconds.",
    message: "The service cannot reach its database, please try again",
  },
  platform_timeout: {
    when: "The platform gave no answer in time; what was to be created may exist.",
    message: "The platform gave no answer within 20 seconds",
    fields: { retryable: false },
  },
};
