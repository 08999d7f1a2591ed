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
