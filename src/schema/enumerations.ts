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
