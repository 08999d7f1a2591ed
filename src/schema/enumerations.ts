/** Closed sets of words that stand on the wire, each written once. */

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

/** What a person of each role may do. Accepting terms, keys and users are also a matter of the role itself. */
export const ROLE_SCOPES: Readonly<Record<Role, ReadonlySet<Scope>>> = {
  owner: new Set(SCOPES),
  admin: new Set(SCOPES),
  member: new Set(SCOPES),
  viewer: new Set(["marketing:read"]),
};

/** Who manages keys and users, and accepts terms. */
export const MANAGING_ROLES = ["owner", "admin"] as const satisfies readonly Role[];

export const PLATFORMS = ["chatapp", "photoapp", "socialapp"] as const;
export type Platform = (typeof PLATFORMS)[number];

export const CHANNEL_STATUSES = ["connected", "needs_reauth", "disconnected"] as const;
export type ChannelStatus = (typeof CHANNEL_STATUSES)[number];

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

/** How far a message has come, as tenants see it. */
export const MESSAGE_STATUSES = [
  "queued",
  "sending",
  "accepted",
  "sent",
  "delivered",
  "read",
  "failed",
  "unknown",
] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** How a recipient is named: by phone number, by an id that only this business sees, by one that only this page sees. */
export const RECIPIENT_KINDS = ["phone", "business_scoped", "scoped_id"] as const;
export type RecipientKind = (typeof RECIPIENT_KINDS)[number];

/** Why a page writes to a person. */
export const MESSAGING_TYPES = ["RESPONSE", "UPDATE", "MESSAGE_TAG", "UTILITY"] as const;
/** How a template stands. The chat platform has more words; APPROVED always means that it can be sent. */
export const TEMPLATE_STATUSES = ["PENDING", "APPROVED", "REJECTED"] as const;
export type TemplateStatus = (typeof TEMPLATE_STATUSES)[number];

/** The ad platform's own statuses, by their numbers. */
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

/** What can be switched off: a platform or a service as a whole. */
export const DISPATCH_KEYS = [...PLATFORMS, ...SERVICES] as const;
export type DispatchKey = (typeof DISPATCH_KEYS)[number];

/** Whom an event concerns: a dispatch key, or the signup, which follows no switch. */
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
  ...TEMPLATE_EVENTS,
  ...CHANNEL_EVENTS,
  ...SIGNUP_EVENTS,
  ...MARKETING_EVENTS,
  ...PUBLISHING_EVENTS,
  "platform.event",
  "webhook.test",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** How far the telling of an event is, as tenants see it. */
export const EVENT_STATUSES = ["pending", "delivered", "failed", "skipped"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

export const SKIP_REASONS = ["disabled", "not_configured"] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];
