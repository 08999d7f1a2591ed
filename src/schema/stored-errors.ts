import type { SignupErrorCode } from "./enumerations.ts";
import { object, type Static, Type } from "./types.ts";

/** Texts in `last_error` of an event and in `error` of its attempts, besides `HTTP` with the status. */
export const DELIVERY_ERRORS = {
  timeout: "No complete answer came in time",
  redirect: "The answer was a redirect, which Herald does not follow",
  "host not found": "The host name cannot be resolved",
  "host not reachable": "The network has no way to the host",
  "address not allowed": "The host has a private or reserved address",
  "connection refused": "The host refused the connection",
  "connection closed": "The connection was closed before the answer was complete",
  "connection failed": "The connection failed for another reason",
  "certificate not valid": "The certificate is expired, for another host, or of an unknown authority",
  "TLS failed": "The connection could not be encrypted",
  "not an HTTP answer": "The answer is not HTTP, or its headers are too large",
  aborted: "Herald was stopped during the attempt",
  interrupted: "A Herald process stopped unexpectedly during the attempt; the request may have arrived",
  quarantined: "Herald processes stopped unexpectedly during five attempts; the event is no longer sent",
  internal: "An error inside Herald",
} as const;

export type DeliveryError = keyof typeof DELIVERY_ERRORS | `HTTP ${number}`;

/** Codes in the `error` of an embedded signup session. */
export const SIGNUP_ERRORS: Readonly<Record<SignupErrorCode, string>> = {
  missing_permission: "The person did not grant a permission",
  pin_rejected: "The platform refused the PIN of the number",
  channel_taken: "Another client connected the number or page at the same moment",
  platform_invalid_request: "The platform refused the signup, for example because the number is not verified",
  platform_permission_denied: "The platform denies access to the account, or the person withdrew the grant",
  platform_policy_blocked: "The platform blocks the account because of its policies",
  platform_object_not_found: "No number, page or photo account was granted, or it no longer exists",
  platform_rate_limited: "The platform, or Herald's share of connections to it, accepts no more calls now",
  platform_unavailable: "The platform cannot be reached",
  platform_timeout: "The platform did not answer in time",
  internal_error: "An error inside Herald",
};

const optionalText = (example: string) => Type.Optional(Type.String({ examples: [example] }));

export const platformError = object(
  {
    code: Type.Integer({ examples: [100] }),
    subcode: Type.Optional(Type.Integer({ examples: [1885272] })),
    type: optionalText("OAuthException"),
    message: Type.String({ examples: ["Invalid parameter"] }),
    user_title: optionalText("Budget is too low"),
    user_message: optionalText("The budget is below the platform's minimum"),
    details: optionalText("The recipient is not on the chat platform"),
    trace_id: optionalText("AqWvR3m0x8PZ1nT5kYcB7dL"),
    fields: Type.Optional(Type.Array(Type.String({ examples: ["daily_budget"] }))),
  },
  { title: "PlatformError", description: "The error that the platform returned" },
);

export type PlatformErrorDto = Static<typeof platformError>;
