/** The chapters of the documentation in their order, each in one sentence. A route names its chapter as its tag. */
export const CHAPTERS: Readonly<Record<string, string>> = {
  Authentication: "Signing in and out, and who a credential speaks for.",
  "API keys": "The keys of your backends: made, rotated and revoked by owners and admins.",
  Users: "The people of your client who sign in to the console.",
  "Audit log": "Who did what, from where.",
  Events: "What happened, how far the telling of it to your backend is, and telling it again.",
  Service: "Whether the service lives and is ready, what it measures, and this description of it.",
};
