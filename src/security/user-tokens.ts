import { createSecretKey, type KeyObject } from "node:crypto";
import {
  createRemoteJWKSet,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
  SignJWT,
} from "jose";
import type { Config } from "../runtime/config/config.ts";
import { HOUR, SECOND } from "../runtime/durations.ts";

/** How long a login lasts. */
export const LOGIN_TTL_MS = 12 * HOUR;

/** Whom a token speaks of. Our own name a row of `users`; an identity provider's say everything themselves. */
export type TokenSubject =
  | { source: "own"; userId: string; clientId: string | undefined; issuedAt: Date | undefined }
  | { source: "provider"; claims: JWTPayload };

export interface TokenOwner {
  id: string;
  clientId: string;
}

export interface UserTokens {
  /** Absent where an identity provider alone issues tokens. */
  issue?(user: TokenOwner, options?: { issuedAt?: Date; ttlMs?: number }): Promise<string>;
  /** Undefined for a token that is forged, expired, incomplete or signed in a way that its source does not use. */
  verify(token: string): Promise<TokenSubject | undefined>;
}

/** The identity provider's keys cannot be read: nothing is known about the token, so the caller is not to blame. */
export class TokenKeysUnavailable extends Error {
  override name = "TokenKeysUnavailable";
}

type Settings = Pick<Config, "JWT_SECRET" | "JWT_JWKS_URL" | "JWT_ISSUER" | "JWT_AUDIENCE">;

/** Which algorithms each source signs with. Which source is asked follows from the algorithm, never from the token's wishes. */
const OWN_ALGORITHMS = ["HS256"];
const PROVIDER_ALGORITHMS = ["RS256", "ES256", "EdDSA"];

export function createUserTokens(settings: Settings): UserTokens {
  const secret = settings.JWT_SECRET === undefined ? undefined : createSecretKey(settings.JWT_SECRET, "utf8");
  const verifyProviderToken =
    settings.JWT_JWKS_URL === undefined ? undefined : createProviderVerifier(settings);
  return {
    ...(secret ? { issue: createIssuer(secret) } : {}),
    async verify(token) {
      const algorithm = algorithmOf(token);
      if (secret && OWN_ALGORITHMS.includes(algorithm)) return verifyOwn(token, secret);
      if (verifyProviderToken && PROVIDER_ALGORITHMS.includes(algorithm)) return verifyProviderToken(token);
      return undefined;
    },
  };
}

const createIssuer =
  (secret: KeyObject): NonNullable<UserTokens["issue"]> =>
  ({ id, clientId }, { issuedAt = new Date(), ttlMs = LOGIN_TTL_MS } = {}) =>
    new SignJWT({ client_id: clientId })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setSubject(id)
      // With its milliseconds: a token made in the second of a password change is either before or after it.
      .setIssuedAt(issuedAt.getTime() / SECOND)
      .setExpirationTime(new Date(Date.now() + ttlMs))
      .sign(secret);

function algorithmOf(token: string): string {
  try {
    return decodeProtectedHeader(token).alg ?? "";
  } catch {
    return "";
  }
}

const REQUIRED_CLAIMS = ["exp", "sub"];

async function verifyOwn(token: string, secret: KeyObject): Promise<TokenSubject | undefined> {
  const claims = await claimsOf(
    jwtVerify(token, secret, { algorithms: OWN_ALGORITHMS, requiredClaims: REQUIRED_CLAIMS }),
  );
  if (!claims) return undefined;
  const { sub = "", client_id, iat } = claims;
  if (client_id !== undefined && typeof client_id !== "string") return undefined;
  const issuedAt = iat === undefined ? undefined : new Date(Math.round(iat * SECOND));
  return { source: "own", userId: sub, clientId: client_id, issuedAt };
}

function createProviderVerifier({ JWT_JWKS_URL, JWT_ISSUER, JWT_AUDIENCE }: Settings) {
  // A key id that nobody knows makes it ask again, at most every 30 s, however many such tokens arrive.
  const keys = createRemoteJWKSet(new URL(JWT_JWKS_URL as string), {
    timeoutDuration: 5 * SECOND,
    cooldownDuration: 30 * SECOND,
  });
  const rules = {
    algorithms: PROVIDER_ALGORITHMS,
    issuer: JWT_ISSUER as string,
    audience: JWT_AUDIENCE as string,
    requiredClaims: [...REQUIRED_CLAIMS, "client_id", "role"],
  };
  return async (token: string): Promise<TokenSubject | undefined> => {
    const claims = await claimsOf(jwtVerify(token, withUnavailableError(keys), rules));
    return claims && { source: "provider", claims };
  };
}

/** Tells a provider that cannot be asked from a token that is not good. */
const withUnavailableError =
  (keys: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      const tokenErrors = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys];
      if (tokenErrors.some((kind) => error instanceof kind)) throw error;
      throw new TokenKeysUnavailable("the identity provider's keys cannot be read", { cause: error });
    }
  };

async function claimsOf(verified: Promise<{ payload: JWTPayload }>): Promise<JWTPayload | undefined> {
  try {
    const { payload } = await verified;
    return typeof payload.sub === "string" && payload.sub !== "" ? payload : undefined;
  } catch (error) {
    // A TypeError is jose's word for a key that its algorithm does not take, a short one for instance.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
}
