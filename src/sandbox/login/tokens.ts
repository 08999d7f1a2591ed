import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { ownProperty } from "../own-property.ts";
import type { DeadTokenSubcode } from "../wire/graph-error.ts";

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
