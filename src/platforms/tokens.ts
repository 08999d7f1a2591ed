import { SECOND } from "../runtime/durations.ts";
import type { Effect } from "./client/call.ts";
import { appToken, type PlatformClient } from "./client/client.ts";
import { asList, asObject, numberOf, textOf } from "./client/shapes.ts";
import { PlatformFailure } from "./errors/failure.ts";

export interface IssuedToken {
  token: string;
  /** Absent when the platform did not say; `inspect` knows then. */
  expiresAt?: Date;
}

export interface TokenReport {
  valid: boolean;
  /** Null: never. */
  expiresAt: Date | null;
  userId?: string;
  scopes: string[];
  /** For which assets a scope was granted; without a list, for all. */
  granted: { scope: string; targets?: string[] }[];
  /** Why it is not valid. */
  reason?: string;
}

/** How tokens are obtained and looked at, the same on all platforms. */
export interface TokenDesk {
  /** A code is good for one use, so this is tried once. */
  exchangeCode(code: string, redirectUri: string): Promise<IssuedToken>;
  /** A token of some two months for one of an hour. */
  prolong(token: string): Promise<IssuedToken>;
  /** Permissions by their status: granted, declined, expired. What was never asked for is not there. */
  permissions(token: string): Promise<Map<string, string>>;
  inspect(token: string): Promise<TokenReport>;
}

export function createTokenDesk(client: PlatformClient): TokenDesk {
  const { id: client_id, secret: client_secret } = client.app;
  const issue = async (effect: Effect, given: Record<string, string>) => {
    const query = { client_id, client_secret, ...given };
    return toIssued(await client.ask({ effect, method: "GET", path: "/oauth/access_token", query }));
  };
  return {
    exchangeCode: (code, redirect_uri) => issue("change", { redirect_uri, code }),
    prolong: (token) => issue("read", { grant_type: "fb_exchange_token", fb_exchange_token: token }),
    async permissions(token) {
      const body = await client.ask({ effect: "read", method: "GET", path: "/me/permissions", token });
      const rows = asList(asObject(body).data).map(asObject);
      return new Map(rows.map(({ permission, status }) => [String(permission), String(status)]));
    },
    async inspect(token) {
      const call = {
        effect: "read",
        method: "GET",
        path: "/debug_token",
        token: appToken(client.app),
      } as const;
      return toReport(await client.ask({ ...call, query: { input_token: token } }));
    },
  };
}

function toIssued(body: unknown): IssuedToken {
  const { access_token, expires_in } = asObject(body);
  const token = textOf(access_token);
  if (!token)
    throw new PlatformFailure("platform_unavailable", "The platform gave no token", { retryable: true });
  const seconds = numberOf(expires_in);
  return { token, ...(seconds === undefined ? {} : { expiresAt: new Date(Date.now() + seconds * SECOND) }) };
}

function toReport(body: unknown): TokenReport {
  const data = asObject(asObject(body).data);
  const [expires, userId] = [numberOf(data.expires_at), textOf(data.user_id)];
  const reason = textOf(asObject(data.error).message);
  return {
    valid: data.is_valid === true,
    expiresAt: expires ? new Date(expires * SECOND) : null,
    ...(userId === undefined ? {} : { userId }),
    scopes: asList(data.scopes).map(String),
    granted: asList(data.granular_scopes).map(asObject).map(toGranted),
    ...(reason === undefined ? {} : { reason }),
  };
}

const toGranted = ({ scope, target_ids }: Record<string, unknown>) => ({
  scope: String(scope),
  ...(Array.isArray(target_ids) ? { targets: target_ids.map(String) } : {}),
});
