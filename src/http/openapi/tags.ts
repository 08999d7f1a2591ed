/** The sections of the API reference, in order. A route names its section as its tag. */
export const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Authentication: "Sign in and out, and read what a credential may do.",
  "API keys": "Keys for your backends. Owners and admins create, rotate and revoke them.",
  Users: "The people of your client who sign in to the console.",
  Channels: "The phone numbers, pages and photo accounts through which your client exchanges messages.",
  Messages: "Send messages and follow their status.",
  Templates: "Messages that the chat platform must approve before they can start a conversation.",
  Webhooks: "Where Herald sends your events, and the token that authenticates them.",
  Events: "What happened, whether your backend has received it, and how to send it again.",
  Terms: "The terms that your client must accept before it advertises.",
  "Ad accounts": "Connect ad accounts through the ad platform's login, and choose which of them are active.",
  Campaigns: "The goal and, optionally, the budget of your advertising. Ad sets belong to a campaign.",
  "Ad sets": "Audience, schedule, bid and budget. Ads belong to an ad set.",
  Ads: "An ad joins an ad set with a creative.",
  Creatives: "The content of ads: a page's post with a link or a video.",
  Media: "Images and videos that creatives use.",
  Insights:
    "Delivery metrics: queries, reports that the ad platform computes in the background, and summaries.",
  Enumerations: "The values that fields accept.",
  "Audit log": "Who did what, and from where.",
  Platforms: "Endpoints that the platforms call: webhooks, deauthorisation and data deletion.",
  Service: "Health, readiness, metrics and this API description.",
};
