/** The API's version and the closed sets of values in the API and in events, each defined once. */

/** The API version: a header of every reply and a field of every event. */
export const API_VERSION = "2026-11-01";

export const SCOPES = [
  "templates:manage",
  "messages:send",
  "webhooks:manage",
  "marketing:read",
  "marketing:manage",
] as const;
export type Scope = (typeof SCOPES)[number];

export const ROLES = ["owner", "admin", "member", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/** The scopes of each role. Managing keys and users and accepting terms also require a managing role. */
export const ROLE_SCOPES: Readonly<Record<Role, ReadonlySet<Scope>>> = {
  owner: new Set(SCOPES),
  admin: new Set(SCOPES),
  member: new Set(SCOPES),
  viewer: new Set(["marketing:read"]),
};

/** Roles that may manage keys and users and accept terms. */
export const MANAGING_ROLES = ["owner", "admin"] as const satisfies readonly Role[];

export const PLATFORMS = ["chatapp", "photoapp", "socialapp"] as const;
export type Platform = (typeof PLATFORMS)[number];

export const CHANNEL_STATUSES = ["connected", "needs_reauth", "disconnected"] as const;
export type ChannelStatus = (typeof CHANNEL_STATUSES)[number];

/** The scheduled jobs. */
export const JOB_NAMES = ["tokens", "reports", "stats", "maintenance"] as const;
export type JobName = (typeof JOB_NAMES)[number];

/** Intervals of statistics, in UTC. */
export const STATS_INTERVALS = ["hour", "day"] as const;
export type StatsInterval = (typeof STATS_INTERVALS)[number];

/** States of the circuit breaker of a client's backend. */
export const BREAKER_STATES = ["closed", "open", "half_open"] as const;

/** Statuses of an embedded signup session. */
export const EMBED_STATUSES = ["pending", "opened", "completed", "failed", "expired", "revoked"] as const;
export type EmbedStatus = (typeof EMBED_STATUSES)[number];

/** Colour schemes of the signup page. */
export const EMBED_THEMES = ["auto", "light", "dark"] as const;
export type EmbedTheme = (typeof EMBED_THEMES)[number];

/** Languages of the signup page. */
export const EMBED_LOCALES = ["auto", "en", "pt", "es"] as const;
export type EmbedLocale = (typeof EMBED_LOCALES)[number];

/** The steps of an embedded signup at the server, in order. */
export const SIGNUP_STEPS = [
  "exchange",
  "grant",
  "read",
  "subscribe",
  "register",
  "namespace",
  "store",
] as const;
export type SignupStep = (typeof SIGNUP_STEPS)[number];

/** Why a step of an embedded signup failed. */
export const SIGNUP_ERROR_CODES = [
  "missing_permission",
  "pin_rejected",
  "channel_taken",
  "platform_invalid_request",
  "platform_permission_denied",
  "platform_policy_blocked",
  "platform_object_not_found",
  "platform_rate_limited",
  "platform_unavailable",
  "platform_timeout",
  "internal_error",
] as const;
export type SignupErrorCode = (typeof SIGNUP_ERROR_CODES)[number];

/** Phases of a person's try in an embedded signup. */
export const TRY_PHASES = ["dialog", "connecting", "choosing", "pin"] as const;
export type TryPhase = (typeof TRY_PHASES)[number];

export const MESSAGE_TYPES = [
  "text",
  "template",
  "image",
  "video",
  "audio",
  "document",
  "sticker",
  "location",
  "contacts",
  "interactive",
  "reaction",
] as const;
export type MessageType = (typeof MESSAGE_TYPES)[number];

/** Statuses of a message in the API. */
export const MESSAGE_STATUSES = [
  "scheduled",
  "queued",
  "sending",
  "accepted",
  "sent",
  "delivered",
  "read",
  "failed",
  "unknown",
  "cancelled",
] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** Statuses of a batch of messages. A paused batch continues when it is resumed; a finished or cancelled one never does. */
export const BATCH_STATUSES = ["scheduled", "running", "paused", "finished", "cancelled"] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** Why a batch is paused: by request, or by itself because of its channel, its template or its failures. */
export const PAUSE_REASONS = ["requested", "channel", "template", "failures"] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

/** Kinds of recipient ids: a phone number, an id scoped to the business, or an id scoped to the page. */
export const RECIPIENT_KINDS = ["phone", "business_scoped", "scoped_id"] as const;
export type RecipientKind = (typeof RECIPIENT_KINDS)[number];

/** The purpose of a page's message to a person. */
export const MESSAGING_TYPES = ["RESPONSE", "UPDATE", "MESSAGE_TAG", "UTILITY"] as const;
export type MessagingType = (typeof MESSAGING_TYPES)[number];

/** Statuses of a template. The chat platform has more; only APPROVED templates can be sent. */
export const TEMPLATE_STATUSES = ["PENDING", "APPROVED", "REJECTED"] as const;
export type TemplateStatus = (typeof TEMPLATE_STATUSES)[number];

/** Names of the ad platform's account statuses, by number. */
export const AD_ACCOUNT_LABELS = {
  1: "active",
  2: "disabled",
  3: "unsettled",
  7: "pending_risk_review",
  8: "pending_settlement",
  9: "in_grace_period",
  100: "pending_closure",
  101: "closed",
} as const;

export const AD_ACCOUNT_STATUSES = ["available", "active", "disabled", "revoked"] as const;
export type AdAccountStatus = (typeof AD_ACCOUNT_STATUSES)[number];

export const SERVICES = ["marketing", "publishing"] as const;

/** Platforms and services whose event delivery a client can switch off. */
export const DISPATCH_KEYS = [...PLATFORMS, ...SERVICES] as const;
export type DispatchKey = (typeof DISPATCH_KEYS)[number];

/** Keys of events: a dispatch key, or the embedded signup, which cannot be switched off. */
export const EVENT_KEYS = [...DISPATCH_KEYS, "embedded_signup"] as const;
export type EventKey = (typeof EVENT_KEYS)[number];

export const TEMPLATE_EVENTS = [
  "template.status_updated",
  "template.quality_updated",
  "template.category_updated",
] as const;

export const CHANNEL_EVENTS = ["channel.updated", "channel.disconnected"] as const;

export const SIGNUP_EVENTS = ["channel.connected", "embed_session.failed"] as const;

export const MARKETING_EVENTS = [
  "ad_account.connected",
  "ad_account.updated",
  "ad_account.revoked",
  "ad_account.token_expiring",
  "ad_object.status_changed",
  "ad_object.with_issues",
  "creative.fatigue",
  "lead.created",
  "insights.report.completed",
  "insights.report.failed",
] as const;

export const PUBLISHING_EVENTS = [
  "comment.created",
  "comment.updated",
  "comment.deleted",
  "mention.created",
  "post.updated",
] as const;

export const EVENT_TYPES = [
  "message.received",
  "message.status",
  "message.send_result",
  "batch.updated",
  ...TEMPLATE_EVENTS,
  ...CHANNEL_EVENTS,
  ...SIGNUP_EVENTS,
  ...MARKETING_EVENTS,
  ...PUBLISHING_EVENTS,
  "platform.event",
  "webhook.test",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Statuses of an event's delivery in the API. */
export const EVENT_STATUSES = ["pending", "delivered", "failed", "skipped"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

export const SKIP_REASONS = ["disabled", "not_configured"] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** The steps of a client's setup, in the order in which a new client takes them. */
export const SETUP_STEPS = [
  "webhook_address",
  "webhook_secret",
  "channel",
  "message",
  "event",
  "terms",
  "ad_account",
] as const;
export type SetupStep = (typeof SETUP_STEPS)[number];

/** The values of the fields of `GET /readyz`. */
export const READINESS_STATUSES = ["ready", "degraded", "unavailable"] as const;

export const POSTGRES_STATES = ["ok", "unavailable", "unmigrated"] as const;
export type PostgresState = (typeof POSTGRES_STATES)[number];

export const REDIS_STATES = ["ok", "unavailable", "read_only"] as const;
export type RedisState = (typeof REDIS_STATES)[number];
