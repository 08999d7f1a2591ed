import type { IncomingHttpHeaders } from "node:http";
import type { Role, Scope } from "../schema/enumerations.ts";
import { ApiError } from "./api-error.ts";

/** Who asks. A user comes through the console or with a user token; an API key has no role. */
export interface Caller {
  clientId: string;
  clientName: string;
  credential: {
    type: "api_key" | "user";
    id: string;
    name: string;
    /** A user's, where anybody has told it. */
    email?: string | null;
  };
  role: Role | null;
  scopes: ReadonlySet<Scope>;
}

/** One way to prove who asks. `verify` answers undefined for a credential that is not (or no longer) good. */
export interface CredentialScheme {
  /** What a refusal names in WWW-Authenticate; a way that needs no introduction has none. */
  challenge?: string;
  isPresent(headers: IncomingHttpHeaders): boolean;
  verify(headers: IncomingHttpHeaders): Promise<Caller | undefined>;
}

/** Exactly one credential, and a good one. */
export async function authenticate(
  schemes: readonly CredentialScheme[],
  headers: IncomingHttpHeaders,
): Promise<Caller> {
  const [scheme, ...others] = schemes.filter((candidate) => candidate.isPresent(headers));
  if (others.length > 0)
    throw new ApiError("ambiguous_credentials", "Send a user token or an API key, not both on one request");
  const caller = await scheme?.verify(headers);
  if (caller) return caller;
  const message = scheme ? "The credential is unknown, expired or revoked" : "A credential is required";
  const challenge = schemes.flatMap((candidate) => candidate.challenge ?? []).join(", ");
  throw new ApiError("unauthorized", message, { headers: { "WWW-Authenticate": challenge } });
}
