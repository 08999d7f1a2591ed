import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { ownProperty } from "../own-property.ts";
import type { DeadTokenSubcode } from "../wire/graph-error.ts";

/** What a token stands for. It is written into the token itself, so that it outlives this process. */
export interface Grant {
  kind: "user" | "business" | "page" | "app" | "nobody";
  user: string;
  /** The granted permissions, and those the person was asked for and declined. */
  scopes: readonly string[];
  declined: readonly string[];
  /** Permissions that were granted once and have run out. */
  expired?: readonly string[];
  /** Which assets the person chose, by id (ad accounts without `act_`). */
  assets: readonly string[];
  /** Unix seconds; 0 never ends. */
  issued: number;
  expires: number;
}

export interface Tokens {
  issue(grant: Grant): string;
  /** The grant, or undefined for what we never issued. Says nothing about its end. */
  read(token: string): Grant | undefined;
  /** From now on this token is refused; as after a changed password, unless another cause is given. */
  revoke(token: string, subcode?: DeadTokenSubcode): void;
  revocationSubcode(token: string): DeadTokenSubcode | undefined;
  /** Lets the killed ones live again. */
  restoreRevoked(): void;
}

interface TokenOptions {
  appId: string;
  appSecret: string;
  /** Tokens that are known by heart. */
  builtIn: Readonly<Record<string, Grant>>;
}

const PREFIX = "EAASandbox";

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

/** Who calls without a token. */
export const anonymousGrant = (): Grant => ({ ...EMPTY_GRANT, kind: "nobody" });

/** What the platform demands beside every token, so that a stolen one alone is of no use. */
export const appSecretProof = (token: string, appSecret: string): string =>
  createHmac("sha256", appSecret).update(token).digest("hex");

export function safeEquals(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
