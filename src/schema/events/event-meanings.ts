import type { EventType } from "../enumerations.ts";

/** Every event type, with its meaning for the documentation. */
export const EVENT_MEANINGS: Readonly<Record<EventType, string>> = {
  "message.received": "A person sent a message to the channel",
  "message.status": "The platform reported a new status of a message you sent",
  "message.send_result": "The platform accepted or rejected a message, or its outcome is unknown",
  "template.status_updated": "The review of a template ended, or its status changed",
  "template.quality_updated": "The platform changed the quality score of a template",
  "template.category_updated": "The platform moved a template to another category",
  "channel.updated": "A property of the channel changed, such as its name, quality or limits",
  "channel.disconnected":
    "The channel was disconnected, lost its token or was taken over; `data.reason` says which",
  "channel.connected": "A customer connected a channel through the embedded signup",
  "embed_session.failed": "An embedded signup failed",
  "ad_account.connected": "An ad account was connected, or connected again",
  "ad_account.updated": "A property of the ad account changed at the platform",
  "ad_account.revoked": "The platform rejects the token of the ad account for good",
  "ad_account.token_expiring": "The token of the ad account expires in 14, 7 or 1 days",
  "ad_object.status_changed": "A campaign, ad set or ad changed its effective status",
  "ad_object.with_issues": "The platform reports issues of a campaign, ad set or ad",
  "creative.fatigue": "The platform reports that an audience has seen a creative too often",
  "lead.created": "A person submitted a lead form",
  "insights.report.completed": "An asynchronous insights report is ready",
  "insights.report.failed": "An asynchronous insights report failed",
  "comment.created": "A person commented on a post or photo",
  "comment.updated": "A comment was edited or hidden",
  "comment.deleted": "A comment was deleted",
  "mention.created": "The page or photo account was mentioned",
  "post.updated": "A post of the page was added, edited or removed",
  "platform.event": "A platform update that Herald does not interpret; `raw` has it",
  "webhook.test": "A test event, sent by `POST /api/webhooks/test`",
};
