import { createSecretKey, type KeyObject } from "node:crypto";
import {
  createRemoteJWKSet,
  customFetch,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
  SignJWT,
} from "jose";
import type { Config } from "../runtime/config/config.ts";
import { HOUR, SECOND } from "../runtime/durations.ts";
import { findExceededLimit } from "../runtime/json/json-limits.ts";

/** Lifetime of a login's token. */
export const LOGIN_TTL_MS = 12 * HOUR;

/** The subject of a token. Herald's tokens name a row of `users`; an identity provider's contain all claims. */
export type TokenSubject =
  | {
      source: "own";
      userId: string;
      clientId: string | undefined;
      /** Undefined in a token made elsewhere with the secret, which is valid until it expires. */
      sessionId: string | undefined;
      issuedAt: Date | undefined;
    }
  | { source: "provider"; claims: JWTPayload };

export interface TokenOwner {
  id: string;
  clientId: string;
}

interface TokenOptions {
  sessionId?: string;
  issuedAt?: Date;
  ttlMs?: number;
}

export interface UserTokens {
  /** Absent when only an identity provider issues tokens. */
  issue?(user: TokenOwner, options?: TokenOptions): Promise<string>;
  /** Undefined for a token that is forged, expired, incomplete or signed with an algorithm its source does not use. */
  verify(token: string): Promise<TokenSubject | undefined>;
}

/** The identity provider's keys cannot be fetched, so the token can be neither accepted nor rejected. */
export class TokenKeysUnavailable extends Error {
  override name = "TokenKeysUnavailable";
}

type Settings = Pick<Config, "JWT_SECRET" | "JWT_JWKS_URL" | "JWT_ISSUER" | "JWT_AUDIENCE">;

/** Algorithms of each source. They do not overlap, so that a token's algorithm determines the key that verifies it. */
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
  ({ id, clientId }, { sessionId, issuedAt = new Date(), ttlMs = LOGIN_TTL_MS } = {}) =>
    new SignJWT({ client_id: clientId, ...(sessionId === undefined ? {} : { sid: sessionId }) })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setSubject(id)
      // Includes milliseconds, to order the token and a password change within the same second.
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
  const { sub = "", client_id, sid, iat } = claims;
  if (!isOptionalText(client_id) || !isOptionalText(sid)) return undefined;
  const issuedAt = iat === undefined ? undefined : new Date(Math.round(iat * SECOND));
  return { source: "own", userId: sub, clientId: client_id, sessionId: sid, issuedAt };
}

const isOptionalText = (claim: unknown): claim is string | undefined =>
  claim === undefined || typeof claim === "string";

function createProviderVerifier({ JWT_JWKS_URL, JWT_ISSUER, JWT_AUDIENCE }: Settings) {
  // An unknown key id refetches the keys at most every 30 s, however many such tokens arrive.
  const keys = createRemoteJWKSet(new URL(JWT_JWKS_URL as string), {
    timeoutDuration: 5 * SECOND,
    cooldownDuration: 30 * SECOND,
    [customFetch]: fetchKeys,
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

/** A provider publishes a few keys of a few kilobytes. */
const MAX_KEYS_BYTES = 1024 * 1024;
const KEYS_LIMITS = { maxDepth: 100, maxValues: 50_000 };

/** Fetches the provider's keys; rejects an answer that would take long or much memory to parse. */
async function fetchKeys(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  if (response.status !== 200) return response;
  const chunks: Uint8Array[] = [];
  let bytesRead = 0;
  for await (const chunk of response.body ?? []) {
    bytesRead += chunk.byteLength;
    if (bytesRead > MAX_KEYS_BYTES) throw new Error("the provider's keys are too large");
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (findExceededLimit(body, KEYS_LIMITS)) throw new Error("the provider's keys are too large");
  return new Response(body);
}

/** Distinguishes an unavailable provider from an invalid token. */
const withUnavailableError =
  (keys: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      const tokenErrors = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys];
      if (tokenErrors.some((kind) => error instanceof kind)) throw error;
      throw new TokenKeysUnavailable("the identity provider's keys cannot be fetched", { cause: error });
    }
  };

async function claimsOf(verified: Promise<{ payload: JWTPayload }>): Promise<JWTPayload | undefined> {
  try {
    const { payload } = await verified;
    return typeof payload.sub === "string" && payload.sub !== "" ? payload : undefined;
  } catch (error) {
    // jose throws a TypeError for a key that does not fit the algorithm, for example one that is too short.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
}
