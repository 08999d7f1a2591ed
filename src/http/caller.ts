import type { IncomingHttpHeaders } from "node:http";
import type { Role, Scope } from "../schema/enumerations.ts";
import { ApiError } from "./api-error.ts";

/** The authenticated caller: a user (user token or console cookie) or an API key, which has no role. */
export interface Caller {
  clientId: string;
  clientName: string;
  credential: {
    type: "api_key" | "user";
    id: string;
    name: string;
    /** Set for users; null when the identity provider's token has no email. */
    email?: string | null;
    /** Set for users of Herald's own; null when the token names no session. Absent for an identity provider's users. */
    sessionId?: string | null;
  };
  role: Role | null;
  scopes: ReadonlySet<Scope>;
}

/** A way to authenticate. `verify` returns undefined for an unknown, expired or revoked credential. */
export interface CredentialScheme {
  /** The scheme's entry in the WWW-Authenticate header of a 401; the console cookie has none. */
  challenge?: string;
  isPresent(headers: IncomingHttpHeaders): boolean;
  verify(headers: IncomingHttpHeaders): Promise<Caller | undefined>;
}

/** Requires exactly one credential and verifies it. */
export async function authenticate(
  schemes: readonly CredentialScheme[],
  headers: IncomingHttpHeaders,
): Promise<Caller> {
  const [scheme, ...others] = schemes.filter((candidate) => candidate.isPresent(headers));
  if (others.length > 0)
    throw new ApiError("ambiguous_credentials", "Send either a user token or an API key, not both");
  const caller = await scheme?.verify(headers);
  if (caller) return caller;
  const message = scheme
    ? "The credential is unknown, expired or revoked"
    : "A credential is required: send an API key or a user token";
  const challenge = schemes.flatMap((candidate) => candidate.challenge ?? []).join(", ");
  throw new ApiError("unauthorized", message, { headers: { "WWW-Authenticate": challenge } });
}
