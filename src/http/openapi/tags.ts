/** The chapters of the documentation in their order, each in one sentence. A route names its chapter as its tag. */
export const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Authentication: "Signing in and out, and who a credential speaks for.",
  "API keys": "The keys of your backends: made, rotated and revoked by owners and admins.",
  Users: "The people of your client who sign in to the console.",
  Channels: "The phone numbers, pages and photo accounts through which your client speaks with people.",
  Messages: "What you say to people, and how far each message has come.",
  Templates: "The messages that the chat platform has to approve before they may open a conversation.",
  Webhooks: "Where your events go, and the token by which you know that they are ours.",
  Events: "What happened, how far the telling of it to your backend is, and telling it again.",
  Terms: "What your client takes responsibility for before it advertises, and who has accepted that.",
  "Ad accounts": "The accounts at the ad platform that a person has granted, and which of them operate.",
  "Audit log": "Who did what, from where.",
  Platforms:
    "What the platforms call: their events come in here, and what their people decide about their data.",
  Service: "Whether the service lives and is ready, what it measures, and this description of it.",
};
