import type { ErrorCode } from "../api-error.ts";

/** The documentation of an error code: when it occurs, and an example of its body. */
export interface ErrorNote {
  when: string;
  message: string;
  /** Fields besides `error`, `message` and `request_id`. */
  fields?: Readonly<Record<string, unknown>>;
}

const problem = (path: string, message: string) => ({ details: [{ path, message }] });

const platformErrorFields = (retryable: boolean, code: number, type: string, message: string) => ({
  retryable,
  platform_error: { code, type, message, trace_id: "AqWvR3m0x8PZ1nT5kYcB7dL" },
});

export const ERROR_NOTES: Readonly<Record<ErrorCode, ErrorNote>> = {
  validation_failed: {
    when: "A parameter, a field or the body is invalid or unknown; `details` names each problem.",
    message: "limit must be at most 100",
    fields: problem("/limit", "limit must be at most 100"),
  },
  unknown_dispatch_key: {
    when: "The dispatch key is not one of those in your webhook configuration.",
    message: "platform must be one of chatapp, photoapp, socialapp, marketing, publishing",
  },
  terms_version_not_current: {
    when: "The version is not the one in force, which is in `current_version`.",
    message: "The version in force is 2026-10-01",
    fields: {
      ...problem("/version", "The version in force is 2026-10-01"),
      current_version: "2026-10-01",
    },
  },
  missing_permission: {
    when: "The person did not grant `ads_management` in the ad platform's dialog: `missing` lists every requested permission that was not granted. Without `missing`: the state has expired, was already used, or was issued for another client or redirect_uri.",
    message: "The permission ads_management was not granted: open the dialog again and grant it",
    fields: { missing: ["ads_management"] },
  },
  invalid_image: {
    when: "The image is not valid base64, or has a `data:` prefix.",
    message:
      "bytes_base64 must be strict base64: send the base64 text without the data: prefix and without line breaks",
  },
  unsupported_message_type: {
    when: "The channel's platform does not support this message type.",
    message: "A photoapp channel cannot send messages of type document",
  },
  invalid_recipient: {
    when: "The recipient does not have the format of the channel's platform.",
    message: "to must be a phone number with country code, digits only: no +, spaces or dashes",
    fields: problem(
      "/to",
      "to must be a phone number with country code, digits only: no +, spaces or dashes",
    ),
  },
  platform_invalid_request: {
    when: "The platform rejected the content of the request; `platform_error` has the platform's own error.",
    message: "The budget is below the platform's minimum",
    fields: platformErrorFields(false, 100, "OAuthException", "Invalid parameter"),
  },
  ambiguous_credentials: {
    when: "The request carries two different credentials.",
    message: "Send one credential only: either a user token or an API key",
  },
  unauthorized: {
    when: "The credential is missing, unknown, expired or revoked. For calls by a platform: the signature is missing or wrong.",
    message: "The credential is unknown, expired or revoked",
  },
  insufficient_scope: {
    when: "The credential is valid but lacks the scope in `required_scope`.",
    message: "This request requires the scope marketing:manage",
    fields: { required_scope: "marketing:manage" },
  },
  test_key_required: {
    when: "A `svc_live_` API key cannot send test events with a `type`.",
    message: "Events with a type are for tests: send a svc_test_ API key or a user token",
  },
  invalid_verify_token: {
    when: "`hub.mode` is not `subscribe`, or `hub.verify_token` is not the configured token.",
    message: "hub.mode must be subscribe and hub.verify_token the configured verify token",
  },
  terms_not_accepted: {
    when: "The client has not accepted the version of the terms in `current_version` yet.",
    message: "The client must accept version 2026-10-01 of the terms first",
    fields: { current_version: "2026-10-01" },
  },
  console_only: {
    when: "The request was made with an API key, but only a user may make it.",
    message: "API keys cannot make this request: sign in to the console or send a user token",
  },
  role_insufficient: {
    when: "The user's role does not allow the request.",
    message: "This request requires the role owner or admin",
  },
  platform_permission_denied: {
    when: "The platform denies the request: the connected account lacks a permission.",
    message: "The platform denies this request to the connected account",
    fields: platformErrorFields(false, 200, "OAuthException", "Permissions error"),
  },
  platform_policy_blocked: {
    when: "The platform blocks the account or the content because of its policies.",
    message: "The platform has temporarily blocked this action",
    fields: platformErrorFields(false, 368, "OAuthException", "The action has been blocked"),
  },
  not_found: {
    when: "The object does not exist or belongs to another client.",
    message: "There is no such object",
  },
  platform_object_not_found: {
    when: "The object does not exist at the platform, or no longer exists there.",
    message: "The object does not exist at the platform",
    fields: platformErrorFields(false, 803, "OAuthException", "Some of the aliases do not exist"),
  },
  method_not_allowed: {
    when: "The path supports other methods; `Allow` lists them.",
    message: "PUT is not allowed here; allowed: GET, HEAD",
  },
  idempotency_in_progress: {
    when: "A request with the same Idempotency-Key is still in progress.",
    message: "A request with this Idempotency-Key is still in progress",
  },
  ad_account_not_active: {
    when: "The ad account is not active.",
    message: "The ad account must be active for this request",
  },
  ad_account_revoked: {
    when: "Access to the ad account was revoked: connect it again.",
    message: "The platform no longer accepts the ad account's token: reconnect the account",
  },
  invalid_state_transition: {
    when: "The object cannot change from its current state to the requested one.",
    message: "An ad account that was never active cannot be disabled",
  },
  channel_disconnected: {
    when: "The channel is disconnected, or must be authorised again.",
    message: "The channel is disconnected: reconnect it",
  },
  channel_taken: {
    when: "The number, page or account is already connected elsewhere.",
    message: "This number is already connected to another channel",
  },
  session_not_revocable: {
    when: "The session is already completed or expired.",
    message: "A completed session cannot be revoked",
  },
  webhook_not_configured: {
    when: "No `webhook_url` is set.",
    message: "Set webhook_url before sending a test event",
  },
  session_gone: {
    when: "The session is completed, expired or revoked.",
    message: "This link was already used or has expired",
  },
  payload_too_large: {
    when: "The body exceeds the endpoint's size limit.",
    message: "The body is larger than 10485760 bytes",
  },
  image_too_large: {
    when: "The image is larger than 7 MiB.",
    message: "The image is larger than 7340032 bytes",
  },
  request_timeout: {
    when: "The body arrived at less than 16 KiB per second, or not within 30 seconds (10 minutes above 1 MiB). The connection is closed.",
    message: "The body did not arrive in time",
  },
  expectation_failed: {
    when: "The `Expect` header asks for something other than `100-continue`.",
    message: "The only supported expectation is 100-continue",
  },
  unsupported_media_type: {
    when: "The Content-Type is not supported here, or the body is compressed.",
    message: "The body must not be compressed",
  },
  idempotency_key_reused: {
    when: "The Idempotency-Key was already used with a different body.",
    message: "This Idempotency-Key was already used with a different body",
  },
  rate_limited: {
    when: "The client has exceeded its request rate, has too many requests or calls to a platform at the same time, or already runs the one bulk retry or CSV export that it may run at a time; or there were too many failed attempts with a password. Retry after `Retry-After` seconds.",
    message: "More than 12000 requests in a minute",
  },
  platform_rate_limited: {
    when: "The platform limits the calls on this account, business or page, or the calls of Herald as a whole; retry after `Retry-After` seconds.",
    message: "The platform accepts no more calls for this account at the moment",
    fields: platformErrorFields(true, 17, "OAuthException", "User request limit reached"),
  },
  internal_error: {
    when: "An unexpected error in Herald; report the `request_id`.",
    message: "An internal error occurred",
  },
  platform_unavailable: {
    when: "The platform cannot be reached, or its answer is unusable.",
    message: "The platform is not available at the moment",
    fields: { retryable: true },
  },
  overloaded: {
    when: "The service is overloaded; retry after `Retry-After` seconds.",
    message: "The service is overloaded, please try again",
  },
  temporarily_unavailable: {
    when: "The service cannot handle the request right now, for example because its database is unreachable; retry after `Retry-After` seconds.",
    message: "The service cannot reach its database, please try again",
  },
  outcome_unknown: {
    when: "Herald's database did not answer in time and may have carried out the request. Repeat it with the same Idempotency-Key, or read the object, to find out.",
    message: "The database did not answer in time: the request may have taken effect",
  },
  platform_timeout: {
    when: "The platform did not answer in time; the request may have taken effect there.",
    message: "The platform did not answer within 20 seconds",
    fields: { retryable: false },
  },
};
