import type { EventDto } from "../../../sdk/src/generated/types.ts";

export type EventType = EventDto["type"];

/** The compiler finds a missing type. */
const TYPES: Readonly<Record<EventType, true>> = {
  "message.received": true,
  "message.status": true,
  "message.send_result": true,
  "batch.updated": true,
  "template.status_updated": true,
  "template.quality_updated": true,
  "template.category_updated": true,
  "channel.updated": true,
  "channel.disconnected": true,
  "channel.connected": true,
  "embed_session.failed": true,
  "ad_account.connected": true,
  "ad_account.updated": true,
  "ad_account.revoked": true,
  "ad_account.token_expiring": true,
  "ad_object.status_changed": true,
  "ad_object.with_issues": true,
  "creative.fatigue": true,
  "lead.created": true,
  "insights.report.completed": true,
  "insights.report.failed": true,
  "comment.created": true,
  "comment.updated": true,
  "comment.deleted": true,
  "mention.created": true,
  "post.updated": true,
  "platform.event": true,
  "webhook.test": true,
};

/** All types of events. */
export const EVENT_TYPES = Object.keys(TYPES) as EventType[];
