import { SECOND } from "../runtime/durations.ts";
import type { Fields } from "./client/body.ts";
import type { PlatformCall } from "./client/call.ts";
import { appToken, type PlatformClient } from "./client/client.ts";
import { asList, asObject, dateOf, numberOf, textOf, texts } from "./client/shapes.ts";
import { unavailable } from "./errors/failure.ts";
import { readPlatformError, struckOut } from "./errors/platform-error.ts";
import { judge } from "./errors/verdicts.ts";

export interface IssuedToken {
  token: string;
  /** Absent when the platform did not say; `inspect` knows then. */
  expiresAt?: Date;
}

export interface TokenReport {
  valid: boolean;
  /** The platform calls it dead. One that is neither valid nor this may be valid again, or is not well told of. */
  dead: boolean;
  /** Null: never. Absent: the platform did not say. */
  expiresAt?: Date | null;
  userId?: string;
  scopes: string[];
  /** For which assets a scope was granted; without a list, for all. */
  granted: { scope: string; targets?: string[] }[];
  /** Why it is not valid. */
  reason?: string;
}

/** How tokens are obtained and looked at, the same on all platforms. `about`: ids for the log. */
export interface TokenDesk {
  /** A code is good for one use, so this is tried once. */
  exchangeCode(code: string, redirectUri: string, about?: Fields): Promise<IssuedToken>;
  /** A token of some two months for one of an hour. */
  prolong(token: string, about?: Fields): Promise<IssuedToken>;
  /** Permissions by their status: granted, declined, expired. What was never asked for is not there. */
  permissions(token: string, about?: Fields): Promise<Map<string, string>>;
  inspect(token: string, about?: Fields): Promise<TokenReport>;
}

export function createTokenDesk(client: PlatformClient): TokenDesk {
  const { id: client_id, secret: client_secret } = client.app;
  const issue = async (
    given: Record<string, string>,
    call: Pick<PlatformCall, "effect" | "secrets" | "about">,
  ) => {
    const query = { client_id, client_secret, ...given };
    return toIssued(await client.ask({ ...call, method: "GET", path: "/oauth/access_token", query }));
  };
  return {
    exchangeCode: (code, redirect_uri, about = {}) =>
      issue({ redirect_uri, code }, { effect: "change", secrets: [code], about }),
    prolong: (token, about = {}) =>
      issue(
        { grant_type: "fb_exchange_token", fb_exchange_token: token },
        { effect: "read", secrets: [token], about },
      ),
    async permissions(token, about = {}) {
      const body = await client.ask({ effect: "read", method: "GET", path: "/me/permissions", token, about });
      const { data } = asObject(body);
      if (!Array.isArray(data)) throw unavailable("The platform did not list the permissions");
      const rows = data.map(asObject);
      return new Map(rows.map(({ permission, status }) => [textOf(permission) ?? "", textOf(status) ?? ""]));
    },
    async inspect(token, about = {}) {
      const call = {
        effect: "read",
        method: "GET",
        path: "/debug_token",
        token: appToken(client.app),
        about,
      } as const;
      const answer = await client.ask({ ...call, query: { input_token: token }, secrets: [token] });
      return toReport(answer, token);
    },
  };
}

function toIssued(body: unknown): IssuedToken {
  const { access_token, expires_in } = asObject(body);
  const token = textOf(access_token);
  if (!token) throw unavailable("The platform gave no token");
  const seconds = numberOf(expires_in);
  const expiresAt = seconds === undefined ? undefined : dateOf(Date.now() / SECOND + seconds);
  return { token, ...(expiresAt ? { expiresAt } : {}) };
}

function toReport(body: unknown, token: string): TokenReport {
  const data = asObject(asObject(body).data);
  // What says neither yes nor no must not pass for the death of a token.
  if (typeof data.is_valid !== "boolean")
    throw unavailable("The platform did not say whether the token is valid");
  const userId = textOf(data.user_id);
  const reason = textOf(asObject(data.error).message);
  return {
    valid: data.is_valid,
    dead: !data.is_valid && meansDeath(asObject(data.error)),
    ...expiryIn(data),
    ...(userId === undefined ? {} : { userId }),
    scopes: texts(data.scopes),
    granted: asList(data.granular_scopes).map(asObject).map(toGranted),
    ...(reason === undefined ? {} : { reason: struckOut(reason, [token]) }),
  };
}

/** Here the platform calls a subcode by another name. */
function meansDeath({ subcode, ...error }: Record<string, unknown>): boolean {
  const told = readPlatformError({ error: { ...error, error_subcode: subcode } });
  return told !== undefined && judge(told, "none").verdict === "token_dead";
}

function expiryIn({ expires_at }: Record<string, unknown>): Pick<TokenReport, "expiresAt"> {
  if (numberOf(expires_at) === 0) return { expiresAt: null };
  const expiresAt = dateOf(expires_at);
  return expiresAt ? { expiresAt } : {};
}

const toGranted = ({ scope, target_ids }: Record<string, unknown>) => ({
  scope: textOf(scope) ?? "",
  ...(Array.isArray(target_ids) ? { targets: texts(target_ids) } : {}),
});
