import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { DAY, MINUTE, SECOND } from "../../runtime/durations.ts";
import { type DeadTokenSubcode, deadToken, type GraphError } from "./graph-error.ts";
import { ownProperty } from "./params.ts";

/** The content of a token. The token itself encodes it, so that it survives a restart. */
export interface Grant {
  kind: "user" | "business" | "page" | "app" | "anonymous";
  user: string;
  /** The granted permissions; `declined` has those that the person refused. */
  scopes: readonly string[];
  declined: readonly string[];
  /** Permissions that were granted and have expired. */
  expired?: readonly string[];
  /** Ids of the assets that the person chose (ad accounts without `act_`). */
  assets: readonly string[];
  /** Unix seconds; `expires` 0 means never. */
  issued: number;
  expires: number;
}

export interface Tokens {
  issue(grant: Grant): string;
  /**
   * Returns the grant, also of an expired or revoked token; undefined for a token that was not issued here.
   */
  read(token: string): Grant | undefined;
  /** Makes the token dead. The default subcode means a changed password. */
  revoke(token: string, subcode?: DeadTokenSubcode): void;
  revocationSubcode(token: string): DeadTokenSubcode | undefined;
  /** Makes all revoked tokens valid again. */
  restoreRevoked(): void;
}

interface TokenOptions {
  appId: string;
  appSecret: string;
  /** Tokens with a constant value and grant. */
  builtIn: Readonly<Record<string, Grant>>;
}

const PREFIX = "EAASandbox";

/** Tokens carry their own grant, so only revocations are state: `revoke` adds, `restoreRevoked` clears. */
export function createTokens({ appId, appSecret, builtIn }: TokenOptions): Tokens {
  const revoked = new Map<string, DeadTokenSubcode>();
  const sign = (text: string) => createHmac("sha256", `token:${appSecret}`).update(text).digest("base64url");
  return {
    issue(grant) {
      const text = Buffer.from(JSON.stringify({ ...grant, nonce: randomBytes(6).toString("hex") })).toString(
        "base64url",
      );
      return `${PREFIX}${text}.${sign(text)}`;
    },
    read(token) {
      if (token === `${appId}|${appSecret}`) return appGrant();
      const known = ownProperty(builtIn, token);
      if (known) return known;
      const [, text = "", signature = ""] = /^EAASandbox([\w-]+)\.([\w-]+)$/.exec(token) ?? [];
      if (!safeEquals(sign(text), signature)) return undefined;
      return JSON.parse(Buffer.from(text, "base64url").toString()) as Grant;
    },
    revoke: (token, subcode = 460) => void revoked.set(token, subcode),
    revocationSubcode: (token) => revoked.get(token),
    restoreRevoked: () => revoked.clear(),
  };
}

const EMPTY_GRANT = { user: "0", scopes: [], declined: [], assets: [], issued: 0, expires: 0 };

const appGrant = (): Grant => ({ ...EMPTY_GRANT, kind: "app" });

/** The grant of a call without a token. */
export const anonymousGrant = (): Grant => ({ ...EMPTY_GRANT, kind: "anonymous" });

/** The proof that the platform requires with every token, so that a stolen token alone is useless. */
export const appSecretProof = (token: string, appSecret: string): string =>
  createHmac("sha256", appSecret).update(token).digest("hex");

export function safeEquals(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Returns the error of a revoked or expired token; undefined while the token is valid. */
export function tokenErrorOf(
  { tokens, now }: { tokens: Tokens; now(): number },
  token: string,
  grant: Grant,
): GraphError | undefined {
  const subcode = tokens.revocationSubcode(token);
  if (subcode !== undefined) return deadToken(subcode);
  if (grant.expires !== 0 && grant.expires * 1000 <= now()) return deadToken(463);
  return undefined;
}

/** The platform's times are Unix seconds. */
export const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / SECOND);

export const SHORT_LIVED_SECONDS = toSeconds(90 * MINUTE);

/** Slightly less than 60 days, like the platform's value. */
export const LONG_LIVED_SECONDS = 5_183_944;

export const DATA_ACCESS_SECONDS = toSeconds(90 * DAY);

/** Returns when a page token of this grant expires; 0 (never) for a long-lived user token. */
export const pageTokenExpiry = ({ issued, expires }: Grant): number =>
  expires === 0 || expires - issued > SHORT_LIVED_SECONDS ? 0 : expires;

/** The person's consent in a dialog. Issue and expiry times are added when the code is exchanged. */
export type Agreement = Omit<Grant, "issued" | "expires">;

interface CodeDetails {
  /** The dialog's redirect_uri; the exchange must repeat it exactly. */
  redirectUri: string;
  agreement: Agreement;
}

export type CodeResult =
  | { outcome: "taken"; agreement: Agreement }
  | { outcome: "unknown" | "used" | "expired" | "mismatch" };

export interface Codes {
  issue(details: CodeDetails): string;
  /** Consumes the code. A different redirect_uri is rejected and leaves the code valid. */
  take(code: string, redirectUri: string): CodeResult;
}

interface CodeOptions {
  now(): number;
  lifetimeMs?: number | undefined;
}

/** Codes for one exchange within 30 seconds. Used codes are kept, so that reuse is reported as such. */
export function createCodes({ now, lifetimeMs = 30 * SECOND }: CodeOptions): Codes {
  const issued = new Map<string, CodeDetails & { until: number; used: boolean }>();
  return {
    issue(details) {
      const code = `AQ${randomBytes(48).toString("base64url")}`;
      issued.set(code, { ...details, until: now() + lifetimeMs, used: false });
      return code;
    },
    take(code, redirectUri) {
      const found = issued.get(code);
      if (!found) return { outcome: "unknown" };
      if (found.used) return { outcome: "used" };
      if (now() > found.until) return { outcome: "expired" };
      if (found.redirectUri !== redirectUri) return { outcome: "mismatch" };
      found.used = true;
      return { outcome: "taken", agreement: found.agreement };
    },
  };
}
