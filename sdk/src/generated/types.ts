// Generated from the API's OpenAPI document by `npm run sdk`: do not edit.

export interface LoginDto {
  email: string;
  password: string;
}

export interface SessionDto {
  /** Send it as `Authorization: Bearer <token>` */
  token: string;
  /** Lifetime of the token in seconds */
  expires_in: number;
  user: {
    id: string;
    name: string;
    email: string;
    role: "owner" | "admin" | "member" | "viewer";
    client_id: string;
  };
}

/** The error that the platform returned */
export interface PlatformError {
  code: number;
  subcode?: number;
  type?: string;
  message: string;
  user_title?: string;
  user_message?: string;
  details?: string;
  trace_id?: string;
  fields?: string[];
}

/** The body of every response with a status of 400 or above. Some codes add fields. */
export interface ErrorBody {
  /** Stable error code to program against */
  error: "validation_failed" | "unknown_dispatch_key" | "terms_version_not_current" | "missing_permission" | "invalid_image" | "unsupported_message_type" | "invalid_recipient" | "platform_invalid_request" | "ambiguous_credentials" | "unauthorized" | "insufficient_scope" | "test_key_required" | "invalid_verify_token" | "terms_not_accepted" | "console_only" | "role_insufficient" | "platform_permission_denied" | "platform_policy_blocked" | "not_found" | "platform_object_not_found" | "method_not_allowed" | "request_timeout" | "idempotency_in_progress" | "ad_account_not_active" | "ad_account_revoked" | "invalid_state_transition" | "channel_disconnected" | "channel_taken" | "session_not_revocable" | "webhook_not_configured" | "session_gone" | "payload_too_large" | "image_too_large" | "unsupported_media_type" | "expectation_failed" | "idempotency_key_reused" | "rate_limited" | "platform_rate_limited" | "internal_error" | "platform_unavailable" | "overloaded" | "temporarily_unavailable" | "platform_timeout" | "outcome_unknown";
  /** Explanation for people; the wording may change */
  message: string;
  /** One entry per invalid field or parameter */
  details?: Array<{
    /** JSON pointer to the invalid field or parameter */
    path: string;
    message: string;
  }>;
  /** With `insufficient_scope`: a scope that would be sufficient */
  required_scope?: "templates:manage" | "messages:send" | "webhooks:manage" | "marketing:read" | "marketing:manage";
  /** With `terms_not_accepted` and `terms_version_not_current`: the version in force */
  current_version?: string;
  /** With `missing_permission`: the requested permissions that the person did not grant */
  missing?: string[];
  /** With platform errors: whether the same request may succeed later */
  retryable?: boolean;
  platform_error?: PlatformError;
  /** With 503 of `GET /readyz`: `unavailable` */
  status?: "ready" | "degraded" | "unavailable";
  /** With 503 of `GET /readyz`: why the process is not ready */
  postgres?: "ok" | "unavailable" | "unmigrated";
  /** With 503 of `GET /readyz`: the state of Redis */
  redis?: "ok" | "unavailable" | "read_only";
  /** Path of the guide section that helps with this code; with `.md` before `#` it is Markdown */
  documentation?: string;
  /** Id of the request in Herald's log; the same as `X-Request-Id` */
  request_id: string;
  [name: string]: unknown;
}

export interface MeDto {
  client_id: string;
  client_name: string;
  credential: {
    type: "api_key" | "user";
    id: string;
    name: string;
  };
  /** Null for an API key */
  role: "owner" | "admin" | "member" | "viewer" | null;
  scopes: Array<"templates:manage" | "messages:send" | "webhooks:manage" | "marketing:read" | "marketing:manage">;
}

export interface UserSessionDto {
  id: string;
  created_at: string;
  /** Accurate to the minute */
  last_used_at: string;
  expires_at: string;
  /** IP address of the sign-in; null for a token issued on the command line */
  address: string | null;
  /** The first 512 characters of the sign-in's User-Agent */
  user_agent: string | null;
  /** Whether this request uses the session */
  current: boolean;
}

export interface Paging {
  cursors: {
    /** Pass it as `before` to get the items that precede this page */
    before: string | null;
    /** Pass it as `after` to get the items that follow this page */
    after: string | null;
  };
  /** Whether there are more items in the requested direction */
  has_more: boolean;
}

export interface SetupStepDto {
  /**
   * What is set up:
   * - `webhook_address`: `webhook_url` is set, and the latest attempt at it, test events included, had a 2xx answer. The attempt is searched among the last attempts of at most 500 events: the 100 newest of each status, and the 100 that have waited longest
   * - `webhook_secret`: a webhook token is set
   * - `channel`: one of the 10,000 newest channels is connected
   * - `message`: a platform accepted a message, so that its status is `accepted`, `sent`, `delivered` or `read`
   * - `event`: an event other than `webhook.test` is among the 1,000 newest events that were delivered
   * - `terms`: the version of the terms in force is accepted
   * - `ad_account`: one of the 10,000 newest ad accounts is active
   */
  step: "webhook_address" | "webhook_secret" | "channel" | "message" | "event" | "terms" | "ad_account";
  done: boolean;
  /** What is the case, in one sentence for a person. The address and its latest attempt need `webhooks:manage`, the id of a message `messages:send`, the version of the terms `marketing:read`; callers without the scope get the sentence without them */
  detail: string;
  /** What to do next, in one sentence for a person; null when the step is done */
  next_step: string | null;
  /** The path of the guide section that describes the step, on this service */
  documentation: string;
}

export interface SetupDto {
  /** Every step, always in the same order */
  data: SetupStepDto[];
}

export interface CreateApiKeyDto {
  name: string;
  scopes: Array<"templates:manage" | "messages:send" | "webhooks:manage" | "marketing:read" | "marketing:manage">;
  /** Must be in the future. Default: the key does not expire */
  expires_at?: string;
}

export interface CreatedApiKeyDto {
  id: string;
  name: string;
  /** The first characters of the key */
  prefix: string;
  /** The last four characters of the key */
  last4: string;
  scopes: Array<"templates:manage" | "messages:send" | "webhooks:manage" | "marketing:read" | "marketing:manage">;
  created_at: string;
  /** The user who created the key; null for a key made on the command line */
  created_by: {
    user_id: string;
    name: string;
    /** Null for a user of an identity provider, who has no entry here */
    enabled: boolean | null;
  } | null;
  expires_at: string | null;
  /** Accurate to the minute */
  last_used_at: string | null;
  revoked_at: string | null;
  /** The key that took its place when it was rotated; until `expires_at` both work */
  replaced_by: string | null;
  /** The complete key; it is shown only once */
  key: string;
}

export interface ApiKeyDto {
  id: string;
  name: string;
  /** The first characters of the key */
  prefix: string;
  /** The last four characters of the key */
  last4: string;
  scopes: Array<"templates:manage" | "messages:send" | "webhooks:manage" | "marketing:read" | "marketing:manage">;
  created_at: string;
  /** The user who created the key; null for a key made on the command line */
  created_by: {
    user_id: string;
    name: string;
    /** Null for a user of an identity provider, who has no entry here */
    enabled: boolean | null;
  } | null;
  expires_at: string | null;
  /** Accurate to the minute */
  last_used_at: string | null;
  revoked_at: string | null;
  /** The key that took its place when it was rotated; until `expires_at` both work */
  replaced_by: string | null;
}

export interface RotateApiKeyDto {
  /** How long the old key keeps working, in minutes. Default: 0 */
  grace_minutes?: number;
}

export interface UserDto {
  id: string;
  email: string;
  name: string;
  role: "owner" | "admin" | "member" | "viewer";
  enabled: boolean;
  last_login_at: string | null;
  created_at: string;
}

export interface CreateUserDto {
  email: string;
  name: string;
  role: "owner" | "admin" | "member" | "viewer";
  /** 8 to 256 characters */
  password?: string;
}

export interface CreatedUserDto {
  id: string;
  email: string;
  name: string;
  role: "owner" | "admin" | "member" | "viewer";
  enabled: boolean;
  last_login_at: string | null;
  created_at: string;
  /** The generated password, shown only once; absent if the request contained one */
  password?: string;
}

export interface UpdateUserDto {
  name?: string;
  role?: "owner" | "admin" | "member" | "viewer";
  enabled?: boolean;
}

export interface ChangePasswordDto {
  /** 8 to 256 characters */
  password: string;
  /** Required to change your own password */
  old_password?: string;
}

export interface ChannelDto {
  channel_id: string;
  platform: "chatapp" | "photoapp" | "socialapp";
  /** `needs_reauth`: the platform rejects the channel's token; connect the channel again */
  status: "connected" | "needs_reauth" | "disconnected";
  display_name?: string;
  /** chatapp only: the number's business account */
  waba_id?: string;
  /** chatapp only */
  phone_number_id?: string;
  display_phone_number?: string;
  /** socialapp: the page; photoapp: the linked page */
  page_id?: string;
  /** photoapp only */
  photoapp_user_id?: string;
  template_namespace?: string;
  external_ref?: string;
  /** When the channel was last connected */
  connected_at: string;
}

export interface MediaUploadDto {
  /** Use it as `id` in the content of a message; valid for 30 days */
  media_id: string;
}

/** Business data that pre-fills the chat platform's signup. Other fields are passed on too */
export interface EmbedPrefillDto {
  business?: {
    name?: string;
    email?: string;
    website?: string;
    [name: string]: unknown;
  };
  phone?: {
    displayName?: string;
    category?: string;
    [name: string]: unknown;
  };
  [name: string]: unknown;
}

export interface CreateEmbedSessionDto {
  /** The origins of your pages that may embed the signup and receive its messages. An international host name is given in its punycode form */
  allowed_origins: string[];
  /** The channels that the page offers. Default: chatapp */
  platforms?: Array<"chatapp" | "photoapp" | "socialapp">;
  /** Your own reference; returned unchanged in the event and in the result */
  external_ref?: string;
  /** How long the URL is valid, in minutes. Default: 30 */
  ttl_minutes?: number;
  prefill?: EmbedPrefillDto;
  /** The colours of the page. `light` and `dark` have a background; `auto` is light on a transparent background in a frame, and follows the system in a window of its own */
  theme?: "auto" | "light" | "dark";
  /** The language of the page; `auto`: the one that the person's browser prefers */
  locale?: "auto" | "en" | "pt" | "es";
  /** The colour of the main button, of icons and of links. Its contrast to white must be at least 4.5 unless `theme` is `dark`; on a dark background the page lightens it as far as needed */
  accent_color?: string;
}

export interface CreatedEmbedSessionDto {
  id: string;
  /** `pending`: the page was not opened yet. `failed`: the last try failed; the person can try again. Only `completed`, `expired` and `revoked` are final */
  status: "pending" | "opened" | "completed" | "failed" | "expired" | "revoked";
  expires_at: string;
  /** The origins of your pages that may embed the signup and receive its messages. An international host name is given in its punycode form */
  allowed_origins: string[];
  platforms: Array<"chatapp" | "photoapp" | "socialapp">;
  external_ref: string | null;
  prefill: EmbedPrefillDto | null;
  /** The colours of the page. `light` and `dark` have a background; `auto` is light on a transparent background in a frame, and follows the system in a window of its own */
  theme: "auto" | "light" | "dark";
  /** The language of the page; `auto`: the one that the person's browser prefers */
  locale: "auto" | "en" | "pt" | "es";
  /** The colour of the main button, of icons and of links. Its contrast to white must be at least 4.5 unless `theme` is `dark`; on a dark background the page lightens it as far as needed */
  accent_color: string | null;
  created_at: string;
  /** The page to embed in an iframe; it is shown only once */
  url: string;
  /** The last part of `url` */
  token: string;
}

export interface EmbedResultDto {
  channel: ChannelDto;
  /** Null unless the channel is a chatapp channel */
  waba_id: string | null;
  /** Null unless the channel is a chatapp channel */
  phone_number_id: string | null;
  /** Null unless the channel is a chatapp channel */
  template_namespace: string | null;
  external_ref: string | null;
}

export interface EmbedErrorDto {
  /** Why the step failed */
  code: "missing_permission" | "pin_rejected" | "channel_taken" | "platform_invalid_request" | "platform_permission_denied" | "platform_policy_blocked" | "platform_object_not_found" | "platform_rate_limited" | "platform_unavailable" | "platform_timeout" | "internal_error";
  message: string;
  /** The step that failed */
  step: "exchange" | "grant" | "read" | "subscribe" | "register" | "namespace" | "store";
}

export interface EmbedSessionDto {
  id: string;
  /** `pending`: the page was not opened yet. `failed`: the last try failed; the person can try again. Only `completed`, `expired` and `revoked` are final */
  status: "pending" | "opened" | "completed" | "failed" | "expired" | "revoked";
  expires_at: string;
  /** The origins of your pages that may embed the signup and receive its messages. An international host name is given in its punycode form */
  allowed_origins: string[];
  platforms: Array<"chatapp" | "photoapp" | "socialapp">;
  external_ref: string | null;
  prefill: EmbedPrefillDto | null;
  /** The colours of the page. `light` and `dark` have a background; `auto` is light on a transparent background in a frame, and follows the system in a window of its own */
  theme: "auto" | "light" | "dark";
  /** The language of the page; `auto`: the one that the person's browser prefers */
  locale: "auto" | "en" | "pt" | "es";
  /** The colour of the main button, of icons and of links. Its contrast to white must be at least 4.5 unless `theme` is `dark`; on a dark background the page lightens it as far as needed */
  accent_color: string | null;
  created_at: string;
  opened_at: string | null;
  completed_at: string | null;
  revoked_at: string | null;
  result: EmbedResultDto | null;
  error: EmbedErrorDto | null;
}

export interface TextContent {
  body: string;
  /** Whether to show a preview of the first link */
  preview_url?: boolean;
  [name: string]: unknown;
}

export interface SendTextDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "text";
  text: TextContent;
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

export interface TemplateContent {
  name: string;
  language: {
    code: string;
    [name: string]: unknown;
  };
  /** Values for the template's variables */
  components?: Array<{
    [name: string]: unknown;
  }>;
  [name: string]: unknown;
}

export interface SendTemplateDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "template";
  template: TemplateContent;
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

export interface ImageContent {
  /** The `media_id` of an uploaded file; chatapp only */
  id?: string;
  /** http or https URL from which the platform fetches the file */
  link?: string;
  /** On photoapp and socialapp it is sent as a text after the file */
  caption?: string;
  [name: string]: unknown;
}

export interface SendImageDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "image";
  image: ImageContent;
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

export interface VideoContent {
  /** The `media_id` of an uploaded file; chatapp only */
  id?: string;
  /** http or https URL from which the platform fetches the file */
  link?: string;
  /** On photoapp and socialapp it is sent as a text after the file */
  caption?: string;
  [name: string]: unknown;
}

export interface SendVideoDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "video";
  video: VideoContent;
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

export interface AudioContent {
  /** The `media_id` of an uploaded file; chatapp only */
  id?: string;
  /** http or https URL from which the platform fetches the file */
  link?: string;
  [name: string]: unknown;
}

export interface SendAudioDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "audio";
  audio: AudioContent;
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

export interface DocumentContent {
  /** The `media_id` of an uploaded file; chatapp only */
  id?: string;
  /** http or https URL from which the platform fetches the file */
  link?: string;
  /** On photoapp and socialapp it is sent as a text after the file */
  caption?: string;
  filename?: string;
  [name: string]: unknown;
}

export interface SendDocumentDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "document";
  document: DocumentContent;
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

export interface StickerContent {
  /** The `media_id` of an uploaded file; chatapp only */
  id?: string;
  /** http or https URL from which the platform fetches the file */
  link?: string;
  [name: string]: unknown;
}

export interface SendStickerDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "sticker";
  sticker: StickerContent;
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

export interface LocationContent {
  latitude: number | string;
  longitude: number | string;
  name?: string;
  address?: string;
  [name: string]: unknown;
}

export interface SendLocationDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "location";
  location: LocationContent;
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

export interface Contact {
  name: {
    formatted_name: string;
    [name: string]: unknown;
  };
  [name: string]: unknown;
}

export interface SendContactsDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "contacts";
  contacts: Contact[];
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

export interface InteractiveContent {
  /** Any type of the chat platform, such as button, list, flow, cta_url or voice_call */
  type: string;
  [name: string]: unknown;
}

export interface SendInteractiveDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "interactive";
  interactive: InteractiveContent;
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

export interface ReactionContent {
  /** The platform's id of the message to react to */
  message_id: string;
  /** The reaction; "" removes it */
  emoji: string;
  [name: string]: unknown;
}

export interface SendReactionDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  type: "reaction";
  reaction: ReactionContent;
  /** The message that this one replies to, by the platform's id */
  context?: {
    message_id: string;
  };
  external_ref?: string;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** When the message is to be sent, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** Optional check: must be the channel's platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
}

/** The content is in the field that is named like the type, in the chat platform's format. photoapp and socialapp support text, image, video, audio and reaction; socialapp also supports document */
export type SendMessageDto = SendTextDto | SendTemplateDto | SendImageDto | SendVideoDto | SendAudioDto | SendDocumentDto | SendStickerDto | SendLocationDto | SendContactsDto | SendInteractiveDto | SendReactionDto;

export interface SendMessageResponseDto {
  message_id: string;
  /** `scheduled`: the message waits for its `send_at`. `accepted`: the platform accepted the message but has not sent it yet. `unknown`: the message may have reached the person; Herald waits for a status from the platform. `cancelled`: the message was cancelled before it was sent */
  status: "scheduled" | "queued" | "sending" | "accepted" | "sent" | "delivered" | "read" | "failed" | "unknown" | "cancelled";
  channel_id: string;
  platform: "chatapp" | "photoapp" | "socialapp";
  to: string;
  /** The kind of id in `to` */
  to_type: "phone" | "business_scoped" | "scoped_id";
  external_ref: string | null;
  created_at: string;
}

export interface MessageStatusDto {
  status: "scheduled" | "queued" | "sending" | "accepted" | "sent" | "delivered" | "read" | "failed" | "unknown" | "cancelled";
  /** When the message first reached this status */
  at: string;
}

export interface MessageErrorDto {
  /** The platform's error number, or one of Herald's codes: expired, channel_disconnected, outcome_unknown, quarantined, discarded, internal */
  code: number | string;
  title: string | null;
  message: string | null;
  details: string | null;
}

export interface MessageDto {
  message_id: string;
  /** `scheduled`: the message waits for its `send_at`. `accepted`: the platform accepted the message but has not sent it yet. `unknown`: the message may have reached the person; Herald waits for a status from the platform. `cancelled`: the message was cancelled before it was sent */
  status: "scheduled" | "queued" | "sending" | "accepted" | "sent" | "delivered" | "read" | "failed" | "unknown" | "cancelled";
  channel_id: string;
  platform: "chatapp" | "photoapp" | "socialapp";
  to: string;
  /** The kind of id in `to` */
  to_type: "phone" | "business_scoped" | "scoped_id";
  external_ref: string | null;
  created_at: string;
  /** The batch that the message belongs to */
  batch_id: string | null;
  /** When the message is to be sent; null if at once */
  send_at: string | null;
  /** Null until the platform has accepted the message */
  platform_message_id: string | null;
  /** The statuses that the message has reached, earliest first */
  statuses: MessageStatusDto[];
  error: MessageErrorDto | null;
  /** Number of attempts to send the message to the platform */
  attempts: number;
}

export interface MessageDetailDto {
  message_id: string;
  /** `scheduled`: the message waits for its `send_at`. `accepted`: the platform accepted the message but has not sent it yet. `unknown`: the message may have reached the person; Herald waits for a status from the platform. `cancelled`: the message was cancelled before it was sent */
  status: "scheduled" | "queued" | "sending" | "accepted" | "sent" | "delivered" | "read" | "failed" | "unknown" | "cancelled";
  channel_id: string;
  platform: "chatapp" | "photoapp" | "socialapp";
  to: string;
  /** The kind of id in `to` */
  to_type: "phone" | "business_scoped" | "scoped_id";
  external_ref: string | null;
  created_at: string;
  /** The batch that the message belongs to */
  batch_id: string | null;
  /** When the message is to be sent; null if at once */
  send_at: string | null;
  /** Null until the platform has accepted the message */
  platform_message_id: string | null;
  /** The statuses that the message has reached, earliest first */
  statuses: MessageStatusDto[];
  error: MessageErrorDto | null;
  /** Number of attempts to send the message to the platform */
  attempts: number;
  type: "text" | "template" | "image" | "video" | "audio" | "document" | "sticker" | "location" | "contacts" | "interactive" | "reaction";
  /** The content as it was accepted, in the field named like the type; an array if the type is `contacts`. In a batch, with the fields of this message in place of the common ones. Null once it is deleted */
  content: {
    [name: string]: unknown;
  } | Array<{
    [name: string]: unknown;
  }> | null;
  /** The message that this one replies to, by the platform's id */
  context: {
    message_id: string;
  } | null;
  /** Null if the request had none */
  messaging_type: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY" | null;
  /** Null if the request had none */
  tag: string | null;
}

export interface MessageExplanationDto {
  message_id: string;
  /** The batch that the message belongs to */
  batch_id: string | null;
  status: "scheduled" | "queued" | "sending" | "accepted" | "sent" | "delivered" | "read" | "failed" | "unknown" | "cancelled";
  /** `ok`: the platform has the message, or it was cancelled. `unknown`: the platform may have it. A message that is `ok` becomes `waiting` or `failed` when your backend has not got an event about it */
  verdict: "ok" | "waiting" | "failed" | "unknown";
  /** A stable word for the reason; more may be added */
  cause: "accepted" | "sent" | "delivered" | "read" | "cancelled" | "scheduled" | "queued" | "sending" | "order" | "rate" | "retry" | "channel_needs_reauth" | "batch_paused" | "hold" | "expired" | "channel_disconnected" | "outcome_unknown" | "send_quarantined" | "discarded" | "internal_error" | "recipient_unreachable" | "recipient_unavailable" | "recipient_refuses_messages" | "recipient_unknown" | "recipient_is_sender" | "recipient_not_in_test_list" | "recipient_in_experiment" | "recipient_stopped_marketing" | "recipient_id_unsupported" | "window_closed" | "withheld_by_platform" | "identity_mismatch" | "parameter_invalid" | "parameter_missing" | "message_type_unsupported" | "media_download_failed" | "media_upload_failed" | "attachment_type_mismatch" | "request_rejected" | "template_missing" | "template_paused" | "template_disabled" | "template_parameter_count" | "template_text_too_long" | "template_policy_violated" | "template_parameter_value" | "template_parameter_format" | "template_classification_limited" | "marketing_disabled" | "flow_blocked" | "flow_throttled" | "access_token_invalid" | "permission_missing" | "policy_blocked" | "country_restricted" | "account_locked" | "spam_limited" | "display_name_not_approved" | "payment_problem" | "payment_terms_not_accepted" | "certificate_invalid" | "sender_not_found" | "number_not_registered" | "registration_failed" | "registration_limited" | "app_rate_limited" | "account_rate_limited" | "number_rate_limited" | "pair_rate_limited" | "platform_unavailable" | "platform_maintenance" | "platform_fault" | "platform_error" | "backend_unavailable" | "backend_retry" | "delivery_failed" | "quarantined";
  /** One sentence for a person; its text can change */
  summary: string;
  /** Who can change it. `you` are the client of Herald; `operator`: of Herald itself */
  who_acts: "nobody" | "you" | "recipient" | "platform" | "operator";
  /** What helps, for a person; its text can change */
  next_step: string;
  /** When this state began */
  since: string;
  /** When this state ends, or the next attempt follows, at the latest; null if not known */
  until: string | null;
  platform_error?: MessageErrorDto;
  /** Path of the section of the guide that describes the cause, at this service */
  documentation: string;
}

export type TimelineEntryDto = {
  at: string;
  type: "accepted";
  /** The request that the message was accepted with; null if Herald did not store it */
  request_id: string | null;
  /** The batch that the message belongs to */
  batch_id: string | null;
} | {
  at: string;
  type: "platform_attempt";
  attempt: number;
  outcome: "accepted" | "rejected" | "retry" | "unknown";
  /** Status of the response; null without one */
  status_code: number | null;
  duration_ms: number | null;
  error: MessageErrorDto | null;
} | {
  at: string;
  type: "status";
  status: "scheduled" | "queued" | "sending" | "accepted" | "sent" | "delivered" | "read" | "failed" | "unknown" | "cancelled";
} | {
  at: string;
  type: "event";
  event_id: string;
  event_type: "message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test";
} | {
  at: string;
  type: "delivery_attempt";
  event_id: string;
  attempt: number;
  /** Status of the response; null without one */
  status_code: number | null;
  duration_ms: number;
  error: string | null;
};

export interface MessageTimelineDto {
  message_id: string;
  data: TimelineEntryDto[];
}

export interface CommonTextContent {
  body?: string;
  /** Whether to show a preview of the first link */
  preview_url?: boolean;
  [name: string]: unknown;
}

export interface BatchTextMessageDto {
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  external_ref?: string;
  body?: string;
}

export interface SendTextBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "text";
  text: CommonTextContent;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchTextMessageDto[];
}

export interface BatchTemplateMessageDto {
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  external_ref?: string;
  /** Values for the template's variables */
  components?: Array<{
    [name: string]: unknown;
  }>;
}

export interface SendTemplateBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "template";
  template: TemplateContent;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchTemplateMessageDto[];
}

export interface BatchMessageDto {
  /** chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page */
  to: string;
  external_ref?: string;
}

export interface SendImageBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "image";
  image: ImageContent;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchMessageDto[];
}

export interface SendVideoBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "video";
  video: VideoContent;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchMessageDto[];
}

export interface SendAudioBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "audio";
  audio: AudioContent;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchMessageDto[];
}

export interface SendDocumentBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "document";
  document: DocumentContent;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchMessageDto[];
}

export interface SendStickerBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "sticker";
  sticker: StickerContent;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchMessageDto[];
}

export interface SendLocationBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "location";
  location: LocationContent;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchMessageDto[];
}

export interface SendContactsBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "contacts";
  contacts: Contact[];
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchMessageDto[];
}

export interface SendInteractiveBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "interactive";
  interactive: InteractiveContent;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchMessageDto[];
}

export interface SendReactionBatchDto {
  /** A connected channel; `GET /api/channels` lists them */
  channel_id: string;
  type: "reaction";
  reaction: ReactionContent;
  /** Only for photoapp and socialapp. Default: RESPONSE */
  messaging_type?: "RESPONSE" | "UPDATE" | "MESSAGE_TAG" | "UTILITY";
  /** Only for photoapp and socialapp. Required with MESSAGE_TAG */
  tag?: string;
  /** Your own name of the batch. Several batches may have the same one */
  name?: string;
  /** When the batch is to start, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once */
  send_at?: string;
  /** At most this many messages per second, up to the rate of the channel */
  rate_per_second?: number;
  /** 1 to 1000 messages. A fault in one of them rejects that one only */
  messages: BatchMessageDto[];
}

/** The content is in the field that is named like the type, in the chat platform's format. photoapp and socialapp support text, image, video, audio and reaction; socialapp also supports document */
export type SendBatchDto = SendTextBatchDto | SendTemplateBatchDto | SendImageBatchDto | SendVideoBatchDto | SendAudioBatchDto | SendDocumentBatchDto | SendStickerBatchDto | SendLocationBatchDto | SendContactsBatchDto | SendInteractiveBatchDto | SendReactionBatchDto;

export interface RejectedMessageDto {
  /** The place in `messages`, from 0 on */
  index: number;
  /** An error code */
  error: string;
  message: string;
}

export interface AcceptedBatchDto {
  batch_id: string;
  /** `paused`: nothing of it is sent until it is resumed. `finished`: nothing of it is still to be sent. `cancelled`: messages that were being sent at that time may still arrive */
  status: "scheduled" | "running" | "paused" | "finished" | "cancelled";
  accepted: number;
  /** Messages that were not accepted: they are not part of the batch */
  rejected: RejectedMessageDto[];
  created_at: string;
}

/** How many of its messages have each status; the sum is the number of accepted messages */
export interface BatchCountsDto {
  scheduled: number;
  queued: number;
  sending: number;
  accepted: number;
  sent: number;
  delivered: number;
  read: number;
  failed: number;
  unknown: number;
  cancelled: number;
}

export interface BatchDto {
  batch_id: string;
  /** Your own name of the batch. Several batches may have the same one */
  name: string | null;
  /** `paused`: nothing of it is sent until it is resumed. `finished`: nothing of it is still to be sent. `cancelled`: messages that were being sent at that time may still arrive */
  status: "scheduled" | "running" | "paused" | "finished" | "cancelled";
  /** Why it is paused; null in any other status. `requested`: by a request. `channel`: its channel is not connected. `template`: the platform no longer sends its template. `failures`: most of the last messages failed with the same error of the platform */
  pause_reason: "requested" | "channel" | "template" | "failures" | null;
  counts: BatchCountsDto;
  channel_id: string;
  type: "text" | "template" | "image" | "video" | "audio" | "document" | "sticker" | "location" | "contacts" | "interactive" | "reaction";
  created_at: string;
  /** When it starts; null if at once */
  send_at: string | null;
  /** When nothing of it was still to be sent */
  finished_at: string | null;
}

/** A template in the chat platform's format; passed on unchanged, including additional fields */
export interface TemplateData {
  name: string;
  language: string;
  category: string;
  components: Array<{
    [name: string]: unknown;
  }>;
  [name: string]: unknown;
}

export interface SubmitTemplateDto {
  /** A connected chatapp channel */
  channel_id: string;
  template_data: TemplateData;
}

export interface SubmitTemplateResponseDto {
  /** 200 if accepted for review; otherwise the chat platform's HTTP status */
  externalCode: number;
  /** APPROVED always means that the template can be sent */
  status?: "PENDING" | "APPROVED" | "REJECTED";
  /** The platform's own status */
  platform_status?: string;
  id_external?: string;
  name?: string;
  /** The chat platform's reason for the rejection */
  message?: string;
  platform_error?: PlatformError;
}

export interface ListTemplatesDto {
  /** A connected chatapp channel */
  channel_id: string;
  name?: string;
  /** PENDING, APPROVED and REJECTED include the platform's corresponding statuses; any other value matches exactly */
  status?: "APPROVED" | "ARCHIVED" | "DELETED" | "DISABLED" | "FLAGGED" | "IN_APPEAL" | "LIMIT_EXCEEDED" | "LOCKED" | "PAUSED" | "PENDING" | "PENDING_DELETION" | "REINSTATED" | "REJECTED" | "UNARCHIVED";
  category?: string;
  language?: string;
  /** Maximum number of templates per page. Default: all */
  limit?: number;
  /** Cursor: return the templates after it. Valid for the same channel and filters only */
  after?: string;
}

/** One translation of a template. Fields that the platform does not report are absent */
export interface TemplateDto {
  /** The platform's id of this translation */
  hsm_id: string;
  name?: string;
  language?: string;
  category?: string;
  /** APPROVED always means that the template can be sent */
  status?: "PENDING" | "APPROVED" | "REJECTED";
  /** The platform's own status */
  platform_status?: string;
  rejected_reason?: string;
  quality_score?: string;
  components?: Array<{
    [name: string]: unknown;
  }>;
}

export interface DeleteTemplateDto {
  /** A connected chatapp channel */
  channel_id: string;
  /** The template to delete, with all its translations unless `hsm_id` is given */
  template_name: string;
  /** Delete only this translation */
  hsm_id?: string;
}

export interface DeleteTemplateResponseDto {
  success: boolean;
  /** The chat platform's HTTP status */
  status_code: number;
  /** The chat platform's reason for the rejection */
  message?: string;
}

export interface PlatformDispatchDto {
  /** While false, these events are recorded as `skipped` and not sent */
  enabled: boolean;
  /** Where these events are sent; null while no webhook_url is set */
  url: string | null;
  /** The types of event that are sent to this URL */
  events: Array<"message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test">;
  /** Types of event that have their own URL */
  routes: Array<{
    /** Where these events are sent; null while no webhook_url is set */
    url: string | null;
    /** The types of event that are sent to this URL */
    events: Array<"message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test">;
  }>;
}

export interface ServiceDispatchDto {
  /** While false, these events are recorded as `skipped` and not sent */
  enabled: boolean;
  /** Where these events are sent; null while no webhook_url is set */
  url: string | null;
  /** The types of event that are sent to this URL */
  events: Array<"message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test">;
}

export interface DispatchUrlsDto {
  platforms: {
    chatapp: PlatformDispatchDto;
    photoapp: PlatformDispatchDto;
    socialapp: PlatformDispatchDto;
  };
  services: {
    marketing: ServiceDispatchDto;
    publishing: ServiceDispatchDto;
  };
  embedded_signup: {
    /** Where these events are sent; null while no webhook_url is set */
    url: string | null;
    /** The types of event that are sent to this URL */
    events: Array<"message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test">;
  };
}

export interface WebhookConfigResponseDto {
  /** The base URL of your backend; "" while none is set */
  webhook_url: string;
  /** Whether a token is set */
  webhook_secret_set: boolean;
  /** The last characters of the token; "" while none is set */
  webhook_secret_hint: string;
  /** Whether webhook_url is set */
  configured: boolean;
  /** Whether deliveries carry the token itself */
  token_header: boolean;
  /** The header that carries the token on every delivery while `token_header` is true */
  signature_header: "x-webhook-token";
  dispatch_urls: DispatchUrlsDto;
}

export interface UpdateWebhookConfigDto {
  /** https, without user name, query and fragment; "" clears it. An international host name is stored in its punycode form */
  webhook_url?: string;
  /** Your own token, 16 to 256 visible ASCII characters; null clears it */
  webhook_secret?: string | null;
  /** While false, deliveries do not carry the token in `x-webhook-token`; the signature alone proves the sender. Default: true */
  token_header?: boolean;
}

export interface SwitchDispatchDto {
  enabled: boolean;
}

export interface GenerateSecretDto {
  /** How long deliveries are also signed with the previous token, in minutes. Default: 0 */
  grace_minutes?: number;
}

export interface GeneratedSecretDto {
  /** The complete token; it is shown only once */
  webhook_secret: string;
}

export interface TestWebhookDto {
  /** The key to whose URL the event is sent. It must be one of the type's keys. Default: the first of them; without `type`, and for `webhook.test`, webhook_url itself */
  key?: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup";
  /** Sends the example of this type instead, like a real event */
  type?: "message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test";
  /** Merged over the `data` of the example: objects field by field, all other values replace those of the example. Requires `type` */
  data?: {
    [name: string]: unknown;
  };
  /** Whether the response waits for the first attempt; false: it is 202 at once. Requires `type`. Default: true */
  wait?: boolean;
}

export interface TestWebhookResultDto {
  event_id: string;
  /** Whether your backend answered with a 2xx status */
  delivered: boolean;
  /** The status of your backend's answer; null if there was none */
  status_code: number | null;
  /** The duration of the attempt; 0 if there was none */
  duration_ms: number;
  /** Why the event was not delivered; null if it was. An event with a type that was not attempted has `disabled` or `not_configured` when it is skipped, and `pending` when its first attempt was not made within 16 seconds */
  error: string | null;
}

export interface RecordedTestDto {
  event_id: string;
}

export interface Sender {
  /** Use it as `to` of an answer: the phone number, or a scoped id */
  id?: string;
  /** chatapp only: digits with country code */
  phone?: string;
  /** chatapp only */
  business_scoped_id?: string;
  username?: string;
  name?: string;
}

/** A text on chatapp */
export interface ReceivedBody {
  body: string;
}

/** A message on photoapp or socialapp, as the platform sends it */
export interface PageMessage {
  /** The platform's id of the message */
  mid: string;
  text?: string;
  /** The quick reply that the person chose */
  quick_reply?: {
    payload?: string;
  };
  attachments?: Array<{
    type?: string;
    payload?: {
      url?: string;
    };
  }>;
}

export interface MessageContext {
  /** The message replied to */
  message_id?: string;
  [name: string]: unknown;
}

/** The ad or link with which the chat began */
export interface MessageReferral {
  [name: string]: unknown;
}

export interface MessageNotice {
  /** The platform's number, or Herald's code */
  code?: unknown;
  title?: unknown;
  message?: unknown;
  error_data?: unknown;
  [name: string]: unknown;
}

export interface ReceivedText {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "text";
  content: ReceivedBody | PageMessage;
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

/** A file on chatapp */
export interface ReceivedFile {
  /** Download it with `GET /api/channels/{channel_id}/media/{media_id}` */
  id: string;
  mime_type?: string;
  sha256?: string;
  caption?: string;
  /** Of a document */
  filename?: string;
  /** Of an audio: recorded in the chat */
  voice?: boolean;
  /** Of a sticker */
  animated?: boolean;
}

export interface ReceivedMedia {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "image" | "video" | "audio" | "document" | "sticker";
  content: ReceivedFile | PageMessage;
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

/** A location on chatapp */
export interface ReceivedPlace {
  latitude: number;
  longitude: number;
  name?: string;
  address?: string;
}

export interface ReceivedLocation {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "location";
  content: ReceivedPlace | PageMessage;
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

export interface ReceivedContacts {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "contacts";
  content: Array<{
    name?: {
      formatted_name?: string;
    };
    phones?: Array<{
      phone?: string;
      wa_id?: string;
    }>;
  }>;
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

export interface ReceivedInteractive {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "interactive";
  content: {
    type: "button_reply" | "list_reply" | "nfm_reply" | (string & {});
    button_reply?: {
      id?: string;
      title?: string;
    };
    list_reply?: {
      id?: string;
      title?: string;
      description?: string;
    };
    nfm_reply?: {
      name?: string;
      body?: string;
      /** The answers, as JSON in a text */
      response_json?: string;
    };
  };
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

export interface ReceivedButton {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "button";
  content: {
    text: string;
    payload?: string;
  };
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

export interface ReceivedOrder {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "order";
  content: {
    catalog_id?: string;
    text?: string;
    product_items?: Array<{
      product_retailer_id?: string;
      quantity?: number;
      item_price?: number;
      currency?: string;
    }>;
  };
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

export interface ReceivedReaction {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "reaction";
  content: {
    /** Absent or empty when the person removed the reaction */
    emoji?: string;
    /** chatapp only: the message reacted to */
    message_id?: string;
    /** photoapp and socialapp only: the message reacted to */
    mid?: string;
    /** photoapp and socialapp only: `react` or `unreact` */
    action?: string;
    /** photoapp and socialapp only */
    reaction?: string;
  };
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

export interface ReceivedPostback {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "postback";
  content: {
    /** What you gave to the button */
    payload?: string;
    title?: string;
    mid?: string;
  };
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

export interface ReceivedSystem {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "system";
  content: {
    body?: string;
    type?: string;
    /** The new phone number */
    wa_id?: string;
    user_id?: string;
  };
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

export interface ReceivedPageMessage {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "file" | "template" | "fallback" | "share" | "story_mention" | "deleted";
  content: PageMessage;
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

/** A message of a type whose content is not described, or that the platform has added */
export interface ReceivedOther {
  /** Use it in `context` of an answer. Of a reaction: the message reacted to */
  platform_message_id?: string;
  from: Sender;
  /** The recipient of an echo */
  to?: string;
  type: "echo" | "edit" | "revoke" | "unsupported" | (string & {});
  /** Null when the platform sends none */
  content: unknown;
  context?: MessageContext;
  referral?: MessageReferral;
  group_id?: string;
  /** Why the platform does not pass on the content */
  errors?: MessageNotice[];
  /** When it happened, by the platform's clock */
  at?: string;
}

export type ReceivedMessageData = ReceivedText | (ReceivedMedia & { type: "image" | "video" | "audio" | "document" | "sticker" }) | ReceivedLocation | ReceivedContacts | ReceivedInteractive | ReceivedButton | ReceivedOrder | ReceivedReaction | ReceivedPostback | ReceivedSystem | (ReceivedPageMessage & { type: "file" | "template" | "fallback" | "share" | "story_mention" | "deleted" }) | (ReceivedOther & { type: "echo" | "edit" | "revoke" | "unsupported" });

export interface MessageReceivedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "message.received";
  api_version: string;
  key: "chatapp" | "photoapp" | "socialapp";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: ReceivedMessageData;
}

export interface MessageStatusData {
  /** Null when the message was not sent through Herald */
  message_id: string | null;
  platform_message_id: string | null;
  /** The platform's word; `played` and others are possible. `cancelled`: you cancelled the message before it was sent */
  status: "sent" | "delivered" | "read" | "failed" | "cancelled" | (string & {});
  /** When it happened, by the platform's clock */
  at?: string;
  recipient: string | null;
  /** Why the message failed; empty for other statuses */
  errors: MessageNotice[];
  /** chatapp only */
  pricing?: unknown;
}

export interface MessageStatusEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "message.status";
  api_version: string;
  key: "chatapp" | "photoapp" | "socialapp";
  channel_id: string;
  /** Your own reference of the message or the signup session */
  external_ref?: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: MessageStatusData;
}

export interface SendResultData {
  message_id: string;
  /** `unknown`: the message may have been sent; Herald does not send it again */
  outcome: "accepted" | "rejected" | "unknown";
  platform_message_id?: string;
  error?: MessageErrorDto;
}

export interface MessageSendResultEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "message.send_result";
  api_version: string;
  key: "chatapp" | "photoapp" | "socialapp";
  channel_id: string;
  /** Your own reference of the message or the signup session */
  external_ref?: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: SendResultData;
}

export interface BatchUpdate {
  batch_id: string;
  /** Your own name of the batch. Several batches may have the same one */
  name: string | null;
  /** `paused`: nothing of it is sent until it is resumed. `finished`: nothing of it is still to be sent. `cancelled`: messages that were being sent at that time may still arrive */
  status: "scheduled" | "running" | "paused" | "finished" | "cancelled";
  /** Why it is paused; null in any other status. `requested`: by a request. `channel`: its channel is not connected. `template`: the platform no longer sends its template. `failures`: most of the last messages failed with the same error of the platform */
  pause_reason: "requested" | "channel" | "template" | "failures" | null;
  counts: BatchCountsDto;
}

export interface BatchUpdatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "batch.updated";
  api_version: string;
  key: "chatapp" | "photoapp" | "socialapp";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: BatchUpdate;
}

export interface TemplateStatusData {
  /** The platform's id of the template */
  hsm_id: string;
  name?: string;
  language?: string;
  /** Only APPROVED templates can be sent */
  status?: "PENDING" | "APPROVED" | "REJECTED";
  /** The platform's own word */
  platform_status?: string;
  reason?: string;
}

export interface TemplateStatusUpdatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "template.status_updated";
  api_version: string;
  key: "chatapp";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: TemplateStatusData;
}

export interface TemplateQualityData {
  /** The platform's id of the template */
  hsm_id: string;
  name?: string;
  language?: string;
  before?: string;
  after?: string;
}

export interface TemplateQualityUpdatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "template.quality_updated";
  api_version: string;
  key: "chatapp";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: TemplateQualityData;
}

export interface TemplateCategoryData {
  /** The platform's id of the template */
  hsm_id: string;
  name?: string;
  language?: string;
  before?: string;
  after?: string;
}

export interface TemplateCategoryUpdatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "template.category_updated";
  api_version: string;
  key: "chatapp";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: TemplateCategoryData;
}

/** The person whom the change concerns */
export interface Person {
  /** Use it as `to` of an answer: the phone number, or a scoped id */
  id?: string;
  /** chatapp only: digits with country code */
  phone?: string;
  /** chatapp only */
  business_scoped_id?: string;
}

export interface ChannelChangeData {
  /** The platform's name of the change */
  change: string;
  before?: string;
  /** The new value. Of `user_preferences`: stop, resume or signup */
  after?: string;
  person?: Person;
  /** Of `user_preferences`: the category of messages */
  category?: string;
  /** The other fields of the change, under the platform's names */
  details?: {
    [name: string]: unknown;
  };
  /** When it happened, by the platform's clock */
  at?: string;
}

export interface ChannelUpdatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "channel.updated";
  api_version: string;
  key: "chatapp" | "photoapp" | "socialapp";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: ChannelChangeData;
}

export interface DisconnectionData {
  /** `token_dead`: the platform rejects the token; connect the channel again. `requested`: through the API. `taken_over`: the number or page was connected elsewhere. `platform`: the platform ended the connection */
  reason: "token_dead" | "requested" | "taken_over" | "platform";
}

export interface ChannelDisconnectedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "channel.disconnected";
  api_version: string;
  key: "chatapp" | "photoapp" | "socialapp";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: DisconnectionData;
}

export interface CompletedSignupData {
  session_id: string;
  result: EmbedResultDto;
}

export interface ChannelConnectedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "channel.connected";
  api_version: string;
  key: "embedded_signup";
  channel_id: string;
  /** Your own reference of the message or the signup session */
  external_ref?: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: CompletedSignupData;
}

export interface FailedSignupData {
  session_id: string;
  /** Why the step failed */
  code: "missing_permission" | "pin_rejected" | "channel_taken" | "platform_invalid_request" | "platform_permission_denied" | "platform_policy_blocked" | "platform_object_not_found" | "platform_rate_limited" | "platform_unavailable" | "platform_timeout" | "internal_error";
  message: string;
  /** The step that failed */
  step: "exchange" | "grant" | "read" | "subscribe" | "register" | "namespace" | "store";
}

export interface EmbedSessionFailedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "embed_session.failed";
  api_version: string;
  key: "embedded_signup";
  /** Your own reference of the message or the signup session */
  external_ref?: string;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: FailedSignupData;
}

export interface AdAccountDto {
  id: string;
  /** The ad platform's id of the account */
  ad_account_id: string;
  /** The ad platform's id without the `act_` prefix */
  account_id: string;
  name: string;
  currency: string;
  timezone_name: string;
  /** The ad platform's status number */
  account_status: number;
  /** The name of that status; `unknown` for a number that Herald does not know */
  account_status_label: "active" | "disabled" | "unsettled" | "pending_risk_review" | "pending_settlement" | "in_grace_period" | "pending_closure" | "closed" | "unknown";
  /** Absent for a personal account, or without the permission business_management */
  business_id?: string;
  /** Absent when the platform does not return it */
  business_name?: string;
  /** Herald's status of the account. `available`: granted but not activated. `active`: in use. `disabled`: paused. `revoked`: the platform rejects its token; connect the account again */
  status: "available" | "active" | "disabled" | "revoked";
  /** When the token that reaches the account expires: connect the account again before. Null when it does not expire, or the account is revoked */
  token_expires_at: string | null;
  last_synced_at: string;
  created_at: string;
}

export interface ConnectedAdAccountData {
  ad_account: AdAccountDto;
  /** Herald's status before the event */
  previous_status?: "available" | "active" | "disabled" | "revoked";
}

export interface AdAccountConnectedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "ad_account.connected";
  api_version: string;
  key: "marketing";
  /** The ad platform's id */
  ad_account_id: string;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: ConnectedAdAccountData;
}

export interface UpdatedAdAccountData {
  ad_account: AdAccountDto;
  /** Herald's status before the event */
  previous_status?: "available" | "active" | "disabled" | "revoked";
}

export interface AdAccountUpdatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "ad_account.updated";
  api_version: string;
  key: "marketing";
  /** The ad platform's id */
  ad_account_id: string;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: UpdatedAdAccountData;
}

export interface RevokedAdAccountData {
  ad_account: AdAccountDto;
  /** Herald's status before the event */
  previous_status: "available" | "active" | "disabled" | "revoked";
}

export interface AdAccountRevokedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "ad_account.revoked";
  api_version: string;
  key: "marketing";
  /** The ad platform's id */
  ad_account_id: string;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: RevokedAdAccountData;
}

export interface ExpiringTokenData {
  ad_account: AdAccountDto;
  expires_at: string;
  days_left: number;
}

export interface AdAccountTokenExpiringEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "ad_account.token_expiring";
  api_version: string;
  key: "marketing";
  /** The ad platform's id */
  ad_account_id: string;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: ExpiringTokenData;
}

export interface AdObjectStatusData {
  /** The campaign, ad set or ad */
  object_id: string;
  /** CAMPAIGN, AD_SET or AD */
  level?: string;
  /** Absent when the platform reports only the change */
  status?: string;
}

export interface AdObjectStatusChangedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "ad_object.status_changed";
  api_version: string;
  key: "marketing";
  /** The ad platform's id */
  ad_account_id: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: AdObjectStatusData;
}

export interface AdObjectIssuesData {
  /** The campaign, ad set or ad */
  object_id: string;
  /** CAMPAIGN, AD_SET or AD */
  level?: string;
  error_code?: string;
  message?: string;
}

export interface AdObjectWithIssuesEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "ad_object.with_issues";
  api_version: string;
  key: "marketing";
  /** The ad platform's id */
  ad_account_id: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: AdObjectIssuesData;
}

export interface CreativeFatigueData {
  ad_id: string;
  level?: string;
  message?: string;
}

export interface CreativeFatigueEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "creative.fatigue";
  api_version: string;
  key: "marketing";
  /** The ad platform's id */
  ad_account_id: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: CreativeFatigueData;
}

export interface InsightsReportRunDto {
  /** The ad platform deletes the run and its rows after 30 days */
  report_run_id: string;
  async_status: "Job Not Started" | "Job Started" | "Job Running" | "Job Completed" | "Job Failed" | (string & {});
  /** A run at 100 may still be running: only `async_status` says that it has completed */
  async_percent_completion: number;
  /** Present only if the run failed */
  error_code?: number;
  /** Present only if the run failed */
  error_message?: string;
}

export interface InsightsReportCompletedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "insights.report.completed";
  api_version: string;
  key: "marketing";
  /** The ad platform's id */
  ad_account_id: string;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: InsightsReportRunDto;
}

export interface InsightsReportFailedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "insights.report.failed";
  api_version: string;
  key: "marketing";
  /** The ad platform's id */
  ad_account_id: string;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: InsightsReportRunDto;
}

export interface LeadField {
  name: string;
  values: string[];
}

export interface LeadData {
  lead_id: string;
  form_id?: string;
  ad_id?: string;
  page_id?: string;
  created_at?: string;
  /** The person's answers, which Herald fetches before it records the event; absent when the platform does not return them within 5 seconds */
  fields?: LeadField[];
}

export interface LeadCreatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "lead.created";
  api_version: string;
  key: "marketing";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: LeadData;
}

export interface Author {
  id?: string;
  name?: string;
  username?: string;
  [name: string]: unknown;
}

export interface PublicationData {
  /** The comment or post */
  id: string;
  /** The comment that this one answers */
  parent_id?: string;
  post_id?: string;
  from?: Author;
  text?: string;
  /** The platform's word: add, edited, hide, unhide or remove */
  verb?: string;
  /** When it happened, by the platform's clock */
  at?: string;
}

export interface CommentCreatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "comment.created";
  api_version: string;
  key: "publishing";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: PublicationData;
}

export interface CommentUpdatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "comment.updated";
  api_version: string;
  key: "publishing";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: PublicationData;
}

export interface CommentDeletedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "comment.deleted";
  api_version: string;
  key: "publishing";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: PublicationData;
}

export interface MentionCreatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "mention.created";
  api_version: string;
  key: "publishing";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: PublicationData;
}

export interface PostUpdatedEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "post.updated";
  api_version: string;
  key: "publishing";
  channel_id: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: PublicationData;
}

export interface PlatformEventData {
  /** The platform's name of the update */
  field: string;
  /** The update itself, the same as `raw` */
  value: unknown;
}

export interface PlatformEventEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "platform.event";
  api_version: string;
  key: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing";
  channel_id?: string;
  /** The ad platform's id */
  ad_account_id?: string;
  /** Your own reference of the channel */
  channel_external_ref?: string;
  /** The original JSON of the platform; absent when Herald itself is the source */
  raw?: unknown;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: PlatformEventData;
}

/** Empty, unless the request has `data` */
export interface TestData {
  [name: string]: unknown;
}

export interface WebhookTestEvent {
  /** The same on every attempt; also the `webhook-id` header */
  id: string;
  /** Only in a test event that was sent with a `type`: its ids are examples, and its `data` is the example with the caller's changes, which need not match this schema */
  test?: true;
  type: "webhook.test";
  api_version: string;
  key: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup" | null;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds: order events by it */
  recorded_at: string;
  data: TestData;
}

/** An event of any type, as Herald posts it: the body of each attempt, byte for byte */
export type Event = MessageReceivedEvent | MessageStatusEvent | MessageSendResultEvent | BatchUpdatedEvent | TemplateStatusUpdatedEvent | TemplateQualityUpdatedEvent | TemplateCategoryUpdatedEvent | ChannelUpdatedEvent | ChannelDisconnectedEvent | ChannelConnectedEvent | EmbedSessionFailedEvent | AdAccountConnectedEvent | AdAccountUpdatedEvent | AdAccountRevokedEvent | AdAccountTokenExpiringEvent | AdObjectStatusChangedEvent | AdObjectWithIssuesEvent | CreativeFatigueEvent | InsightsReportCompletedEvent | InsightsReportFailedEvent | LeadCreatedEvent | CommentCreatedEvent | CommentUpdatedEvent | CommentDeletedEvent | MentionCreatedEvent | PostUpdatedEvent | PlatformEventEvent | WebhookTestEvent;

export interface StreamItemDto {
  event_id: string;
  type: "message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test";
  key: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup" | null;
  /** What a delivery appends to webhook_url; null when it appends nothing */
  path: string | null;
  /** True for an event that `POST /api/webhooks/events/{id}/retry` sends again */
  replay: boolean;
  payload: Event;
}

export interface StreamPageDto {
  /** Oldest first */
  data: StreamItemDto[];
  /** Where to continue, also when `data` is empty */
  cursor: string;
  /** Whether more events may follow at once; `data` may be empty meanwhile */
  has_more: boolean;
}

export interface EventDto {
  /** Also the `webhook-id` header of each attempt */
  id: string;
  type: "message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test";
  /** Null for a test event sent to `webhook_url` itself */
  key: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup" | null;
  channel_id: string | null;
  ad_account_id: string | null;
  status: "pending" | "delivered" | "failed" | "skipped";
  /** Set only while the status is skipped */
  skip_reason: "disabled" | "not_configured" | null;
  attempts: number;
  last_status_code: number | null;
  /** A short stable text: `HTTP` and the status, or one of timeout, redirect, host not found, host not reachable, address not allowed, connection refused, connection closed, connection failed, certificate not valid, TLS failed, not an HTTP answer, aborted, interrupted, quarantined, internal */
  last_error: string | null;
  /** Set only while the status is pending */
  next_attempt_at: string | null;
  /** The URL of the last attempt; before the first attempt, the URL that the current configuration gives */
  url: string | null;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds */
  recorded_at: string;
  delivered_at: string | null;
}

export interface DeliveryAttemptDto {
  /** Numbered continuously, also across manual retries */
  attempt: number;
  at: string;
  /** Null when no response arrived */
  status_code: number | null;
  duration_ms: number;
  /** A short stable text: `HTTP` and the status, or one of timeout, redirect, host not found, host not reachable, address not allowed, connection refused, connection closed, connection failed, certificate not valid, TLS failed, not an HTTP answer, aborted, interrupted, quarantined, internal */
  error: string | null;
  /** The beginning of the response body */
  response_excerpt: string | null;
}

export interface EventDetailDto {
  /** Also the `webhook-id` header of each attempt */
  id: string;
  type: "message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test";
  /** Null for a test event sent to `webhook_url` itself */
  key: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup" | null;
  channel_id: string | null;
  ad_account_id: string | null;
  status: "pending" | "delivered" | "failed" | "skipped";
  /** Set only while the status is skipped */
  skip_reason: "disabled" | "not_configured" | null;
  attempts: number;
  last_status_code: number | null;
  /** A short stable text: `HTTP` and the status, or one of timeout, redirect, host not found, host not reachable, address not allowed, connection refused, connection closed, connection failed, certificate not valid, TLS failed, not an HTTP answer, aborted, interrupted, quarantined, internal */
  last_error: string | null;
  /** Set only while the status is pending */
  next_attempt_at: string | null;
  /** The URL of the last attempt; before the first attempt, the URL that the current configuration gives */
  url: string | null;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds */
  recorded_at: string;
  delivered_at: string | null;
  payload: Event;
  /** The headers that are the same on every attempt. Each attempt also has `webhook-timestamp`, `x-webhook-attempt` and, with a secret, `webhook-signature` */
  headers: {
    [name: string]: string;
  };
  delivery_attempts: DeliveryAttemptDto[];
}

export interface RetriedEventDto {
  /** Also the `webhook-id` header of each attempt */
  id: string;
  type: "message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test";
  /** Null for a test event sent to `webhook_url` itself */
  key: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup" | null;
  channel_id: string | null;
  ad_account_id: string | null;
  status: "pending" | "delivered" | "failed" | "skipped";
  /** Set only while the status is skipped */
  skip_reason: "disabled" | "not_configured" | null;
  attempts: number;
  last_status_code: number | null;
  /** A short stable text: `HTTP` and the status, or one of timeout, redirect, host not found, host not reachable, address not allowed, connection refused, connection closed, connection failed, certificate not valid, TLS failed, not an HTTP answer, aborted, interrupted, quarantined, internal */
  last_error: string | null;
  /** Set only while the status is pending */
  next_attempt_at: string | null;
  /** The URL of the last attempt; before the first attempt, the URL that the current configuration gives */
  url: string | null;
  /** The platform's time, often in whole seconds */
  occurred_at: string;
  /** When Herald recorded the event, in milliseconds */
  recorded_at: string;
  delivered_at: string | null;
  /** False while the event's key is disabled or no webhook_url is set; the event is then unchanged */
  redispatched: boolean;
}

export interface RetryEventsDto {
  /** Default: both */
  status?: "failed" | "skipped";
  /** Only events of this platform or service */
  key?: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup";
  /** Only events of this type */
  type?: "message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test";
  /** Only events of this channel */
  channel_id?: string;
  /** Only events about this outbound message */
  message_id?: string;
  /** Only events that occurred at or after this time */
  since: string;
  /** Only events that occurred at or before this time */
  until?: string;
  /** Only count the events, without sending them again */
  dry_run?: boolean;
}

export interface RetriedEventsDto {
  /** Events that are sent again */
  queued: number;
  /** Events left unchanged, because their key is disabled or no webhook_url is set */
  not_redispatched: number;
  /** The `queued` events of each type; types without any are left out */
  by_type: {
    [name: string]: number;
  };
}

export interface MessageStatsTotalsDto {
  /** Messages accepted in the interval: the sum of the other figures */
  accepted: number;
  /** The platform has the message: status accepted, sent, delivered or read */
  sent: number;
  /** The message failed */
  failed: number;
  /** The platform may have the message */
  unknown: number;
  /** The message was cancelled before it was sent */
  cancelled: number;
  /** The message is still to be sent, or scheduled */
  waiting: number;
}

export interface MessageStatsRowDto {
  /** Start of the interval */
  start: string;
  channel_id: string;
  /** Messages accepted in the interval: the sum of the other figures */
  accepted: number;
  /** The platform has the message: status accepted, sent, delivered or read */
  sent: number;
  /** The message failed */
  failed: number;
  /** The platform may have the message */
  unknown: number;
  /** The message was cancelled before it was sent */
  cancelled: number;
  /** The message is still to be sent, or scheduled */
  waiting: number;
}

export interface MessageStatsDto {
  /** Start of the first interval */
  since: string;
  /** End of the last interval */
  until: string;
  /** Length of an interval; days are those of UTC */
  interval: "hour" | "day";
  /** The figures include everything that happened before this time, and may include more */
  updated_at: string;
  totals: MessageStatsTotalsDto;
  /** Oldest first; intervals without any are left out */
  data: MessageStatsRowDto[];
}

export interface EventStatsTotalsDto {
  /** Events recorded in the interval: the sum of the other figures */
  accepted: number;
  /** Your backend has accepted the event */
  delivered: number;
  /** The event was not delivered and is not retried */
  failed: number;
  /** The event's key is disabled, or no webhook_url was set */
  skipped: number;
  /** The event is still to be delivered */
  waiting: number;
}

export interface EventStatsRowDto {
  /** Start of the interval */
  start: string;
  /** The platform or service; null for tests of the bare webhook_url */
  key: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup" | null;
  /** Events recorded in the interval: the sum of the other figures */
  accepted: number;
  /** Your backend has accepted the event */
  delivered: number;
  /** The event was not delivered and is not retried */
  failed: number;
  /** The event's key is disabled, or no webhook_url was set */
  skipped: number;
  /** The event is still to be delivered */
  waiting: number;
}

export interface EventStatsDto {
  /** Start of the first interval */
  since: string;
  /** End of the last interval */
  until: string;
  /** Length of an interval; days are those of UTC */
  interval: "hour" | "day";
  /** The figures include everything that happened before this time, and may include more */
  updated_at: string;
  totals: EventStatsTotalsDto;
  /** Oldest first; intervals without any are left out */
  data: EventStatsRowDto[];
}

export interface MessageFailuresDto {
  kind: "message";
  channel_id: string;
  /** As in the explanation of a message */
  cause: "accepted" | "sent" | "delivered" | "read" | "cancelled" | "scheduled" | "queued" | "sending" | "order" | "rate" | "retry" | "channel_needs_reauth" | "batch_paused" | "hold" | "expired" | "channel_disconnected" | "outcome_unknown" | "send_quarantined" | "discarded" | "internal_error" | "recipient_unreachable" | "recipient_unavailable" | "recipient_refuses_messages" | "recipient_unknown" | "recipient_is_sender" | "recipient_not_in_test_list" | "recipient_in_experiment" | "recipient_stopped_marketing" | "recipient_id_unsupported" | "window_closed" | "withheld_by_platform" | "identity_mismatch" | "parameter_invalid" | "parameter_missing" | "message_type_unsupported" | "media_download_failed" | "media_upload_failed" | "attachment_type_mismatch" | "request_rejected" | "template_missing" | "template_paused" | "template_disabled" | "template_parameter_count" | "template_text_too_long" | "template_policy_violated" | "template_parameter_value" | "template_parameter_format" | "template_classification_limited" | "marketing_disabled" | "flow_blocked" | "flow_throttled" | "access_token_invalid" | "permission_missing" | "policy_blocked" | "country_restricted" | "account_locked" | "spam_limited" | "display_name_not_approved" | "payment_problem" | "payment_terms_not_accepted" | "certificate_invalid" | "sender_not_found" | "number_not_registered" | "registration_failed" | "registration_limited" | "app_rate_limited" | "account_rate_limited" | "number_rate_limited" | "pair_rate_limited" | "platform_unavailable" | "platform_maintenance" | "platform_fault" | "platform_error" | "backend_unavailable" | "backend_retry" | "delivery_failed" | "quarantined";
  /** What the cause means, in one sentence for a person */
  summary: string;
  status_code: null;
  count: number;
  /** When the first of them failed */
  first_at: string;
  /** When the last of them failed */
  last_at: string;
  /** The newest of these messages */
  sample_id: string;
}

export interface DeliveryFailuresDto {
  kind: "delivery";
  /** The platform or service; null for tests of the bare webhook_url */
  key: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup" | null;
  /** Host of your backend */
  host?: string;
  /** `http_status`, or the word of the event's `last_error` in snake_case, such as `timeout` or `connection_refused` */
  cause: string;
  /** What the cause means, in one sentence for a person */
  summary: string;
  /** Status of your backend's last answer; null without one */
  status_code: number | null;
  count: number;
  /** When the first of them failed */
  first_at: string;
  /** When the last of them failed */
  last_at: string;
  /** The newest of these events */
  sample_id: string;
}

export type FailureGroupDto = MessageFailuresDto | DeliveryFailuresDto;

export interface FailuresDto {
  /** Most frequent first, at most 50 */
  data: FailureGroupDto[];
}

export interface KeyQueueDto {
  /** The platform or service; null for tests of the bare webhook_url */
  key: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup" | null;
  /** Events that are still to be delivered */
  waiting: number;
  /** When the oldest of them was accepted */
  oldest_waiting_at: string | null;
  /** Circuit breaker of your backend. `open`: it failed too often and gets no events for a while; `half_open`: one event tests it */
  breaker: "closed" | "open" | "half_open";
  /** Scheme, host and port of your backend; null while the breaker is closed */
  origin: string | null;
  /** When the next event tests your backend; null unless the breaker is open */
  next_probe_at: string | null;
}

export interface QueueStatsDto {
  /** The operator has stopped all deliveries for the moment */
  held: boolean;
  /** When the oldest message that waits to be sent was accepted; scheduled messages do not count. Null without any, and for callers without `messages:send` */
  oldest_message_at: string | null;
  data: KeyQueueDto[];
}

export interface MarketingTermsStatusDto {
  /** The version in force; send it to accept the terms */
  version: string;
  /** Whether the client has accepted the version in force */
  accepted: boolean;
  /** When the client last accepted a version, in force or not; null if it never did */
  accepted_at: string | null;
  /** Who accepted it, as recorded at that time */
  accepted_by: {
    user_id: string;
    name: string;
    /** Null when the identity provider does not provide it */
    email: string | null;
    role: "owner" | "admin";
  } | null;
  /** The same as `accepted` */
  current_version_accepted: boolean;
}

export interface MarketingTermsTextDto {
  /** The version in force */
  version: string;
  text: string;
}

export interface AcceptTermsDto {
  /** The version in force */
  version: string;
}

export interface OauthUrlResponseDto {
  /** The ad platform's login dialog: send the person there */
  url: string;
  /** Returned with the person; pass it to the exchange */
  state: string;
  /** Pass exactly this value to the exchange */
  redirect_uri: string;
  /** When the state expires */
  expires_at: string;
}

export interface MissingPermissionResponseDto {
  error: "missing_permission";
  /** Explanation for people; the wording may change */
  message: string;
  /** With `missing_permission`: the requested permissions that the person did not grant */
  missing?: string[];
  /** Path of the guide section that helps with this code; with `.md` before `#` it is Markdown */
  documentation?: string;
  /** Id of the request in Herald's log; the same as `X-Request-Id` */
  request_id: string;
  [name: string]: unknown;
}

export type AdObjectStatus = "ACTIVE" | "PAUSED" | "DELETED" | "ARCHIVED";

export type SpecialAdCategory = "NONE" | "EMPLOYMENT" | "HOUSING" | "CREDIT" | "ISSUES_ELECTIONS_POLITICS" | "ONLINE_GAMBLING_AND_GAMING" | "FINANCIAL_PRODUCTS_SERVICES";

export type BidStrategy = "LOWEST_COST_WITHOUT_CAP" | "LOWEST_COST_WITH_BID_CAP" | "COST_CAP" | "LOWEST_COST_WITH_MIN_ROAS";

export type Objective = "APP_INSTALLS" | "BRAND_AWARENESS" | "CONVERSIONS" | "EVENT_RESPONSES" | "LEAD_GENERATION" | "LINK_CLICKS" | "LOCAL_AWARENESS" | "MESSAGES" | "OFFER_CLAIMS" | "OUTCOME_APP_PROMOTION" | "OUTCOME_AWARENESS" | "OUTCOME_ENGAGEMENT" | "OUTCOME_LEADS" | "OUTCOME_SALES" | "OUTCOME_TRAFFIC" | "PAGE_LIKES" | "POST_ENGAGEMENT" | "PRODUCT_CATALOG_SALES" | "REACH" | "STORE_VISITS" | "VIDEO_VIEWS";

export type BuyingType = "AUCTION" | "RESERVED";

export interface CreateCampaignDto {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  name: string;
  status?: AdObjectStatus;
  special_ad_categories?: SpecialAdCategory[];
  /** Countries to which the special ad categories apply */
  special_ad_category_country?: string[];
  /** Budget per day, in the smallest unit of the account's currency (cents) */
  daily_budget?: number;
  /** Budget for the whole run, in the smallest unit of the account's currency (cents) */
  lifetime_budget?: number;
  bid_strategy?: BidStrategy;
  /** Maximum spend of the campaign, in the smallest unit of the account's currency (cents) */
  spend_cap?: number;
  /** When the campaign starts. The offset may have no colon */
  start_time?: string;
  /** When the campaign stops. The offset may have no colon */
  stop_time?: string;
  objective: Objective;
  buying_type?: BuyingType;
}

export interface CampaignDto {
  id: string;
  /** Empty if an edit without `name` succeeded and the object could not be read again */
  name: string;
  objective?: Objective | string;
  status?: AdObjectStatus | string;
  special_ad_categories?: Array<SpecialAdCategory | string>;
  special_ad_category_country?: string[];
  buying_type?: BuyingType | string;
  /** Budget per day, in the smallest unit of the account's currency (cents) */
  daily_budget?: string;
  /** Budget for the whole run, in the smallest unit of the account's currency (cents) */
  lifetime_budget?: string;
  /** Maximum spend of the campaign, in the smallest unit of the account's currency (cents) */
  spend_cap?: string;
  bid_strategy?: BidStrategy | string;
  /** When the campaign starts */
  start_time?: string;
  /** When the campaign stops */
  stop_time?: string;
  /** The status that results from the object, its parents and its review. It has more values than `status` */
  effective_status?: string;
  /** When the object was created */
  created_time?: string;
  /** When the object was last changed */
  updated_time?: string;
}

export interface ValidationResult {
  valid: true;
}

export interface UpdateCampaignDto {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  name?: string;
  status?: AdObjectStatus;
  special_ad_categories?: SpecialAdCategory[];
  /** Countries to which the special ad categories apply */
  special_ad_category_country?: string[];
  /** Budget per day, in the smallest unit of the account's currency (cents) */
  daily_budget?: number;
  /** Budget for the whole run, in the smallest unit of the account's currency (cents) */
  lifetime_budget?: number;
  bid_strategy?: BidStrategy;
  /** Maximum spend of the campaign, in the smallest unit of the account's currency (cents) */
  spend_cap?: number;
  /** When the campaign starts. The offset may have no colon */
  start_time?: string;
  /** When the campaign stops. The offset may have no colon */
  stop_time?: string;
}

export type BillingEvent = "APP_INSTALLS" | "CLICKS" | "IMPRESSIONS" | "LINK_CLICKS" | "NONE" | "OFFER_CLAIMS" | "PAGE_LIKES" | "POST_ENGAGEMENT" | "THRUPLAY" | "PURCHASE" | "LISTING_INTERACTION";

export type OptimizationGoal = "NONE" | "APP_INSTALLS" | "AD_RECALL_LIFT" | "ENGAGED_USERS" | "EVENT_RESPONSES" | "IMPRESSIONS" | "LEAD_GENERATION" | "QUALITY_LEAD" | "LINK_CLICKS" | "OFFSITE_CONVERSIONS" | "PAGE_LIKES" | "POST_ENGAGEMENT" | "QUALITY_CALL" | "REACH" | "LANDING_PAGE_VIEWS" | "VISIT_INSTAGRAM_PROFILE" | "ENGAGED_PAGE_VIEWS" | "VALUE" | "THRUPLAY" | "DERIVED_EVENTS" | "APP_INSTALLS_AND_OFFSITE_CONVERSIONS" | "CONVERSATIONS" | "IN_APP_VALUE" | "MESSAGING_PURCHASE_CONVERSION" | "MESSAGING_DEEP_CONVERSATION_AND_FOLLOW" | "SUBSCRIBERS" | "REMINDERS_SET" | "MEANINGFUL_CALL_ATTEMPT" | "PROFILE_VISIT" | "PROFILE_AND_PAGE_ENGAGEMENT" | "ADVERTISER_SILOED_VALUE" | "AUTOMATIC_OBJECTIVE" | "MESSAGING_APPOINTMENT_CONVERSION";

export interface CreateAdSetDto {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** The campaign to which the ad set belongs */
  campaign_id: string;
  name: string;
  status?: AdObjectStatus;
  /** Budget per day, in the smallest unit of the account's currency (cents) */
  daily_budget?: number;
  /** Budget for the whole run, which requires `end_time`, in the smallest unit of the account's currency (cents) */
  lifetime_budget?: number;
  billing_event?: BillingEvent;
  optimization_goal?: OptimizationGoal;
  /** Maximum bid, in the smallest unit of the account's currency (cents) */
  bid_amount?: number;
  bid_strategy?: BidStrategy;
  /** When the ad set starts. The offset may have no colon */
  start_time?: string;
  /** When the ad set ends. The offset may have no colon */
  end_time?: string;
  /** The audience, in the ad platform's format */
  targeting?: {
    [name: string]: unknown;
  };
  /** What the ad set promotes */
  promoted_object?: {
    [name: string]: unknown;
  };
  /** Where the ads lead, in the ad platform's words */
  destination_type?: string;
  /** Who pays for the ads (European Digital Services Act) */
  dsa_payor?: string;
  /** Who benefits from the ads (European Digital Services Act) */
  dsa_beneficiary?: string;
}

export interface AdSetDto {
  id: string;
  /** Empty if an edit without `name` succeeded and the object could not be read again */
  name: string;
  campaign_id?: string;
  status?: AdObjectStatus | string;
  /** Budget per day, in the smallest unit of the account's currency (cents) */
  daily_budget?: string;
  /** Budget for the whole run, in the smallest unit of the account's currency (cents) */
  lifetime_budget?: string;
  billing_event?: BillingEvent | string;
  optimization_goal?: OptimizationGoal | string;
  /** Maximum bid, in the smallest unit of the account's currency (cents) */
  bid_amount?: string;
  bid_strategy?: BidStrategy | string;
  /** When the ad set starts */
  start_time?: string;
  /** When the ad set ends */
  end_time?: string;
  /** The audience as the ad platform stored it */
  targeting?: {
    [name: string]: unknown;
  };
  /** What the ad set promotes */
  promoted_object?: {
    [name: string]: unknown;
  };
  destination_type?: string;
  /** The status that results from the object, its parents and its review. It has more values than `status` */
  effective_status?: string;
  /** When the object was created */
  created_time?: string;
  /** When the object was last changed */
  updated_time?: string;
}

export interface UpdateAdSetDto {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  name?: string;
  status?: AdObjectStatus;
  /** Budget per day, in the smallest unit of the account's currency (cents) */
  daily_budget?: number;
  /** Budget for the whole run, which requires `end_time`, in the smallest unit of the account's currency (cents) */
  lifetime_budget?: number;
  billing_event?: BillingEvent;
  optimization_goal?: OptimizationGoal;
  /** Maximum bid, in the smallest unit of the account's currency (cents) */
  bid_amount?: number;
  bid_strategy?: BidStrategy;
  /** When the ad set starts. The offset may have no colon */
  start_time?: string;
  /** When the ad set ends. The offset may have no colon */
  end_time?: string;
  /** The audience, in the ad platform's format */
  targeting?: {
    [name: string]: unknown;
  };
  /** What the ad set promotes */
  promoted_object?: {
    [name: string]: unknown;
  };
  /** Where the ads lead, in the ad platform's words */
  destination_type?: string;
  /** Who pays for the ads (European Digital Services Act) */
  dsa_payor?: string;
  /** Who benefits from the ads (European Digital Services Act) */
  dsa_beneficiary?: string;
}

export interface AdCreativeRef {
  /** An existing creative of the account */
  creative_id: string;
}

export interface CreateAdDto {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** The ad set to which the ad belongs; it cannot be changed */
  adset_id: string;
  name: string;
  status?: AdObjectStatus;
  creative: AdCreativeRef;
  /** Passed to the ad platform unchanged */
  tracking_specs?: Array<{
    [name: string]: unknown;
  }>;
}

export interface AdCreativeRefDto {
  creative_id: string;
  name?: string;
  thumbnail_url?: string;
}

export interface AdDto {
  id: string;
  /** Empty if an edit without `name` succeeded and the object could not be read again */
  name: string;
  adset_id?: string;
  campaign_id?: string;
  status?: AdObjectStatus | string;
  creative?: AdCreativeRefDto;
  /** The status that results from the object, its parents and its review. It has more values than `status` */
  effective_status?: string;
  /** When the object was created */
  created_time?: string;
  /** When the object was last changed */
  updated_time?: string;
}

export interface UpdateAdDto {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  name?: string;
  status?: AdObjectStatus;
  creative?: AdCreativeRef;
  /** Passed to the ad platform unchanged */
  tracking_specs?: Array<{
    [name: string]: unknown;
  }>;
  /** Cannot be changed */
  adset_id?: null | string;
}

export interface ObjectStorySpecDto {
  /** The page that publishes the ad */
  page_id: string;
  /** A link ad. `image_hash` names an uploaded image of the account */
  link_data?: {
    [name: string]: unknown;
  };
  /** A video ad. `video_id` names an uploaded video */
  video_data?: {
    [name: string]: unknown;
  };
  [name: string]: unknown;
}

export interface CreateCreativeDto {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  object_story_spec: ObjectStorySpecDto;
  name?: string;
  /** Settings of automatic variations, passed to the ad platform unchanged */
  degrees_of_freedom_spec?: {
    [name: string]: unknown;
  };
}

export type CallToActionType = "LEARN_MORE" | "SHOP_NOW" | "SIGN_UP" | "BOOK_TRAVEL" | "DOWNLOAD" | "GET_QUOTE" | "CONTACT_US" | "SUBSCRIBE" | "APPLY_NOW" | "GET_OFFER" | "MESSAGE_PAGE" | "WHATSAPP_MESSAGE" | "CALL_NOW" | "DONATE_NOW" | "SEE_MENU" | "ORDER_NOW" | "PLAY_GAME" | "INSTALL_MOBILE_APP" | "NO_BUTTON";

export interface CreativeDto {
  id: string;
  name?: string;
  /** The ad platform's status of the creative */
  status?: string;
  /** The content as the ad platform stored it */
  object_story_spec?: {
    [name: string]: unknown;
  };
  object_story_id?: string;
  effective_object_story_id?: string;
  thumbnail_url?: string;
  image_hash?: string;
  image_url?: string;
  video_id?: string;
  call_to_action_type?: CallToActionType | string;
}

export interface UploadImageDto {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** The file in strict base64, without a `data:` prefix. The file has at most 7 MiB */
  bytes_base64: string;
  /** The name of the file */
  name?: string;
}

export interface UploadedImageDto {
  /** Names the image in `link_data.image_hash` of a creative */
  hash: string;
  /** Where the ad platform serves the image */
  url?: string;
  /** In pixels */
  width?: number;
  /** In pixels */
  height?: number;
  name?: string;
}

export interface UploadVideoDto {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** A public http or https URL, from which the ad platform downloads the video */
  file_url: string;
  /** The title of the video */
  name?: string;
}

export interface UploadedVideoDto {
  /** Names the video in `video_data.video_id` of a creative */
  id: string;
}

export interface VideoDto {
  id: string;
  /** A video can be used in a creative once it is `ready` */
  status: "processing" | "ready" | "error";
  /** Percentage of the processing that is done */
  progress: number;
  /** Why the platform could not process the video */
  errors: Array<{
    code?: number;
    message: string;
  }>;
}

/** A row as the ad platform returns it. Metrics are texts; money is in major units of the account's currency (12.34), unlike budgets */
export interface InsightsRow {
  [name: string]: unknown;
}

/** `0` where nothing was delivered */
export interface InsightsTotals {
  impressions: string;
  clicks: string;
  /** In major units of the currency */
  spend: string;
  reach: string;
  /** In percent */
  ctr: string;
  cpc: string;
  cpm: string;
}

/** Change since the period of equal length before, as a fraction: 0.12 is 12 %. Null where the previous value is 0 */
export interface InsightsChange {
  impressions: number | null;
  clicks: number | null;
  spend: number | null;
  reach: number | null;
  ctr: number | null;
  cpc: number | null;
  cpm: number | null;
}

export interface InsightsSummaryDto {
  /** The account's currency */
  currency: string;
  /** The first day of the period */
  since: string;
  /** The last day of the period */
  until: string;
  totals: InsightsTotals;
  previous: InsightsTotals;
  change: InsightsChange;
  /** Every day of the period, the first one first */
  by_day: Array<{
    /** The day */
    date: string;
    impressions: string;
    clicks: string;
    /** In major units of the currency */
    spend: string;
  }>;
}

export interface CreateInsightsReportDto {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** A campaign, ad set or ad; without it, the whole account */
  object_id?: string;
  /** One row for each object of this level */
  level?: "account" | "campaign" | "adset" | "ad";
  /** Metrics and other fields of the rows (by default impressions, clicks, spend, reach, frequency, cpc, cpm, ctr, actions), separated by commas */
  fields?: string;
  /** A period, in the account's time zone; the ad platform checks it. Cannot be combined with `since` and `until` */
  date_preset?: string;
  /** The first day. Needs `until` */
  since?: string;
  /** The last day. Needs `since` */
  until?: string;
  /** Breakdowns of the rows, separated by commas */
  breakdowns?: string;
  /** Breakdowns of the actions, separated by commas */
  action_breakdowns?: string;
  /** Order of the rows, separated by commas */
  sort?: string;
  /** Length of the period of each row: a number of days, `monthly` or `all_days`. Without it, a row covers all days */
  time_increment?: string | number;
  /** Conditions on the rows */
  filtering?: Array<{
    [name: string]: unknown;
  }>;
}

export interface EnumsDto {
  status: string[];
  objective: string[];
  special_ad_categories: string[];
  buying_type: string[];
  bid_strategy: string[];
  billing_event: string[];
  optimization_goal: string[];
  call_to_action_type: string[];
  ad_account_status: string[];
  template_status: string[];
  platforms: string[];
  async_status: string[];
  date_preset: string[];
  time_increment: string[];
  level: string[];
  insights_fields: string[];
}

export interface AuditEntryDto {
  id: string;
  at: string;
  actor: {
    /** `operator`: the command line; `service`: Herald itself */
    type: "user" | "api_key" | "operator" | "service";
    id: string;
    name: string;
  };
  action: string;
  /** Id of the changed object */
  target: string | null;
  /** IP address of the caller */
  address: string | null;
  request_id: string | null;
  details: {
    [name: string]: unknown;
  };
}

/** Recorded; the platform need not send it again */
export interface WebhookTakenDto {
  received: true;
}

export interface DataDeletionDto {
  url: string;
  confirmation_code: string;
}

export interface ListUserSessionsQuery {
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListUserSessionsPage {
  data: UserSessionDto[];
  paging: Paging;
}

export interface ListApiKeysQuery {
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListApiKeysPage {
  data: ApiKeyDto[];
  paging: Paging;
}

export interface ListUsersQuery {
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListUsersPage {
  data: UserDto[];
  paging: Paging;
}

export interface ListChannelsQuery {
  /** Only channels of this platform */
  platform?: "chatapp" | "photoapp" | "socialapp";
  /** Default: all, including disconnected channels */
  status?: "connected" | "needs_reauth" | "disconnected";
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListChannelsPage {
  data: ChannelDto[];
  paging: Paging;
}

export interface MarkMessageReadBody {
  /** The `platform_message_id` of a received message */
  message_id: string;
  /** Whether the person also sees a typing indicator */
  typing?: boolean;
}

export interface ListEmbedSessionsQuery {
  /** Only sessions with this status */
  status?: "pending" | "opened" | "completed" | "failed" | "expired" | "revoked";
  /** Only sessions with your own reference */
  external_ref?: string;
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListEmbedSessionsPage {
  data: EmbedSessionDto[];
  paging: Paging;
}

export interface ListMessagesQuery {
  /** Only messages of this channel */
  channel_id?: string;
  /** Only messages of this batch */
  batch_id?: string;
  /** Only messages with this status */
  status?: "scheduled" | "queued" | "sending" | "accepted" | "sent" | "delivered" | "read" | "failed" | "unknown" | "cancelled";
  /** Only messages to this recipient, written as in the request */
  to?: string;
  /** Only messages with your own reference */
  external_ref?: string;
  /** Only messages created at or after this time */
  since?: string;
  /** Only messages created at or before this time */
  until?: string;
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListMessagesPage {
  data: MessageDto[];
  paging: Paging;
}

export interface ListBatchesQuery {
  /** Only batches of this channel */
  channel_id?: string;
  /** Only batches with this status */
  status?: "scheduled" | "running" | "paused" | "finished" | "cancelled";
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListBatchesPage {
  data: BatchDto[];
  paging: Paging;
}

export interface ListTemplatesPage {
  data: TemplateDto[];
  paging: Paging;
  /** Namespace of all templates of the channel's business account */
  namespace: string | null;
}

export type SendTestEventReply = TestWebhookResultDto | RecordedTestDto;

export interface StreamEventsQuery {
  /** Only events of these types, separated by commas */
  types?: string;
  /** Only events of these keys, separated by commas: chatapp, photoapp, socialapp, marketing, publishing, embedded_signup. An event without key matches none */
  keys?: string;
  /** Only events of this channel */
  channel_id?: string;
  /** Where to continue. Cannot be combined with `since` */
  cursor?: string;
  /** Begin with the events recorded at or after this time, at most EVENT_RETENTION_DAYS ago. Default: now */
  since?: string;
  /** JSON only: seconds to wait for the first event. Default: 0 */
  wait?: number;
  /** JSON only: maximum number of events. Default: 25 */
  limit?: number;
}

export interface ListEventsQuery {
  /** Only events with this delivery status */
  status?: "pending" | "delivered" | "failed" | "skipped";
  /** Only events of this platform or service */
  key?: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup";
  /** Only events of this type */
  type?: "message.received" | "message.status" | "message.send_result" | "batch.updated" | "template.status_updated" | "template.quality_updated" | "template.category_updated" | "channel.updated" | "channel.disconnected" | "channel.connected" | "embed_session.failed" | "ad_account.connected" | "ad_account.updated" | "ad_account.revoked" | "ad_account.token_expiring" | "ad_object.status_changed" | "ad_object.with_issues" | "creative.fatigue" | "lead.created" | "insights.report.completed" | "insights.report.failed" | "comment.created" | "comment.updated" | "comment.deleted" | "mention.created" | "post.updated" | "platform.event" | "webhook.test";
  /** Only events of this channel */
  channel_id?: string;
  /** Only events about this outbound message */
  message_id?: string;
  /** Only events that occurred at or after this time */
  since?: string;
  /** Only events that occurred at or before this time */
  until?: string;
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListEventsPage {
  data: EventDto[];
  paging: Paging;
}

export type RetryEventReply = RetriedEventDto;

export interface GetMessageStatsQuery {
  /** Start of the period, at most 92 days before `until`. Default: 24 hours before `until` */
  since?: string;
  /** End of the period. Default: now */
  until?: string;
  /** Length of an interval; days are those of UTC */
  interval?: "hour" | "day";
  /** Only messages of this channel */
  channel_id?: string;
  /** Only messages of this batch; these figures are live */
  batch_id?: string;
}

export interface GetEventStatsQuery {
  /** Start of the period, at most 92 days before `until`. Default: 24 hours before `until` */
  since?: string;
  /** End of the period. Default: now */
  until?: string;
  /** Length of an interval; days are those of UTC */
  interval?: "hour" | "day";
  /** Only events of this platform or service */
  key?: "chatapp" | "photoapp" | "socialapp" | "marketing" | "publishing" | "embedded_signup";
}

export interface GetFailuresQuery {
  /** Only failures at or after this time, at most 31 days before `until`. Default: 24 hours before `until` */
  since?: string;
  /** Only failures at or before this time. Default: now */
  until?: string;
}

export interface GetOAuthUrlQuery {
  /** Where the dialog redirects the person, with `code` and `state`: an https URL, or an http URL on localhost. Default: a page of Herald that shows the next step */
  redirect_uri?: string;
}

export interface ExchangeOAuthCodeBody {
  /** The `code` parameter of the URL to which the person was redirected */
  code: string;
  /** Exactly the `redirect_uri` that was returned with the login URL */
  redirect_uri: string;
  state: string;
}

export type ExchangeOAuthCodeReply = AdAccountDto[];

export interface ListAdAccountsQuery {
  /** Default: all, including revoked accounts */
  status?: "available" | "active" | "disabled" | "revoked";
  /** Part of the name or of the ad platform's id, case-insensitive */
  q?: string;
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListAdAccountsPage {
  data: AdAccountDto[];
  paging: Paging;
}

export interface UpdateAdAccountBody {
  /** `active`: Herald works with the account. `disabled`: paused, but still connected */
  status: "active" | "disabled";
}

export interface ListCampaignsQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** Only objects whose `status` has this value */
  status?: "ACTIVE" | "PAUSED" | "DELETED" | "ARCHIVED";
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListCampaignsPage {
  data: CampaignDto[];
  paging: Paging;
}

export interface GetCampaignQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
}

export interface ListAdSetsQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** Only the ad sets of this campaign */
  campaign_id?: string;
  /** Only objects whose `status` has this value */
  status?: "ACTIVE" | "PAUSED" | "DELETED" | "ARCHIVED";
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListAdSetsPage {
  data: AdSetDto[];
  paging: Paging;
}

export interface GetAdSetQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
}

export interface ListAdsQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** Only the ads of this ad set */
  adset_id?: string;
  /** Only the ads of this campaign */
  campaign_id?: string;
  /** Only objects whose `status` has this value */
  status?: "ACTIVE" | "PAUSED" | "DELETED" | "ARCHIVED";
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListAdsPage {
  data: AdDto[];
  paging: Paging;
}

export interface GetAdQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
}

export interface ListCreativesQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListCreativesPage {
  data: CreativeDto[];
  paging: Paging;
}

export interface GetCreativeQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
}

export interface GetVideoQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
}

export interface GetInsightsQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** A campaign, ad set or ad; without it, the whole account */
  object_id?: string;
  /** One row for each object of this level */
  level?: "account" | "campaign" | "adset" | "ad";
  /** Metrics and other fields of the rows (by default impressions, clicks, spend, reach, frequency, cpc, cpm, ctr, actions), separated by commas */
  fields?: string;
  /** A period, in the account's time zone; the ad platform checks it. Cannot be combined with `since` and `until` */
  date_preset?: string;
  /** The first day. Needs `until` */
  since?: string;
  /** The last day. Needs `since` */
  until?: string;
  /** Breakdowns of the rows, separated by commas */
  breakdowns?: string;
  /** Breakdowns of the actions, separated by commas */
  action_breakdowns?: string;
  /** Order of the rows, separated by commas */
  sort?: string;
  /** Length of the period of each row: a number of days, `monthly` or `all_days`. Without it, a row covers all days */
  time_increment?: string;
  /** Conditions on the rows, as the JSON text of a list */
  filtering?: string;
  /** Maximum number of rows per page (by default 25) */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface GetInsightsPage {
  data: InsightsRow[];
  paging: Paging;
  /** The account's currency */
  currency: string;
}

export interface GetInsightsSummaryQuery {
  /** The ad platform's id of an active ad account of your client */
  ad_account_id: string;
  /** The period, in the account's time zone */
  date_preset: "yesterday" | "last_7d" | "last_14d" | "last_28d" | "last_30d" | "last_90d" | "last_month";
}

export interface GetInsightsReportQuery {
  /** Required for a report that your client did not start through this API */
  ad_account_id?: string;
}

export interface GetInsightsReportResultsQuery {
  /** Required for a report that your client did not start through this API */
  ad_account_id?: string;
  /** Maximum number of rows per page (by default 25) */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface GetInsightsReportResultsPage {
  data: InsightsRow[];
  paging: Paging;
  /** The account's currency */
  currency: string;
}

export interface ListAuditEntriesQuery {
  /** Only entries with this action */
  action?: string;
  /** Only entries of this user or API key */
  actor_id?: string;
  /** Only entries made at or after this time */
  since?: string;
  /** Only entries made at or before this time */
  until?: string;
  /** Maximum number of items per page */
  limit?: number;
  /** Cursor: return the items after it. Cannot be combined with `before` */
  after?: string;
  /** Cursor: return the items before it. Cannot be combined with `after` */
  before?: string;
}

export interface ListAuditEntriesPage {
  data: AuditEntryDto[];
  paging: Paging;
}

export interface GetHealthReply {
  status: "ok";
  version: string;
}

export interface GetReadinessReply {
  /** `degraded`: requests are served and nothing is lost, but sends and deliveries wait for Redis. `unavailable`: only with 503 */
  status: "ready" | "degraded" | "unavailable";
  /** `unmigrated`: the database lacks migrations */
  postgres: "ok" | "unavailable" | "unmigrated";
  /** `read_only`: Redis answers and refuses writes */
  redis: "ok" | "unavailable" | "read_only";
}

export type GetApiDescriptionReply = Record<string, unknown>;
