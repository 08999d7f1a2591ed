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

/** A place of a request that can carry a credential. */
export interface CredentialScheme {
  /** The scheme's entry in the WWW-Authenticate header of a 401; not every scheme has one. */
  challenge?: string;
  read(headers: IncomingHttpHeaders): string | undefined;
  /** Returns undefined for an unknown, expired or revoked credential. */
  verify(credential: string): Promise<Caller | undefined>;
}

/** Returns the token of the Authorization header, if it is of the kind that is asked for. */
export function readBearerToken(
  { authorization = "" }: IncomingHttpHeaders,
  isOfKind: (token: string) => boolean,
): string | undefined {
  const token = /^bearer /i.test(authorization) ? authorization.slice("bearer ".length).trim() : "";
  return token !== "" && isOfKind(token) ? token : undefined;
}

/** Requires exactly one credential, which may be sent in several places, and verifies it. */
export async function authenticate(
  schemes: readonly CredentialScheme[],
  headers: IncomingHttpHeaders,
): Promise<Caller> {
  const presented = new Map<string, CredentialScheme>();
  for (const scheme of schemes) {
    const credential = scheme.read(headers);
    if (credential !== undefined) presented.set(credential, scheme);
  }
  const [first, ...others] = presented;
  if (others.length > 0)
    throw new ApiError(
      "ambiguous_credentials",
      "Send one credential only: either a user token or an API key",
    );
  const caller = first && (await first[1].verify(first[0]));
  if (caller) return caller;
  const message = first
    ? "The credential is unknown, expired or revoked"
    : "A credential is required: send an API key or a user token";
  const challenge = schemes.flatMap((candidate) => candidate.challenge ?? []).join(", ");
  throw new ApiError("unauthorized", message, { headers: { "WWW-Authenticate": challenge } });
}
