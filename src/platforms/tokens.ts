import { SECOND } from "../runtime/durations.ts";
import { asList, asObject, dateOf, type Fields, numberOf, textOf, textsOf } from "./bodies.ts";
import type { PlatformCall } from "./client/call.ts";
import { appToken, type PlatformClient } from "./client/client.ts";
import { unusableAnswer } from "./errors/failure.ts";
import { judge, readPlatformError, redactSecrets } from "./errors/verdicts.ts";

export interface IssuedToken {
  token: string;
  /** Absent when the platform did not return it; `inspect` returns it then. */
  expiresAt?: Date;
}

export interface TokenInspection {
  valid: boolean;
  /** The platform rejects the token for good. A token neither valid nor dead may become valid again. */
  dead: boolean;
  /** Null when it never expires; absent when the platform did not return it. */
  expiresAt?: Date | null;
  userId?: string;
  scopes: string[];
  /** Assets each scope was granted for; without `targets`, all assets. */
  granted: { scope: string; targets?: string[] }[];
  /** The reason the token is not valid. */
  reason?: string;
}

/** Token operations, the same on all platforms. `about`: ids for the log. */
export interface PlatformTokens {
  /** Not retried: a code is single-use. */
  exchangeCode(code: string, redirectUri: string, about?: Fields): Promise<IssuedToken>;
  /** Exchanges a token valid for an hour for one valid for about two months. */
  prolong(token: string, about?: Fields): Promise<IssuedToken>;
  /** Status by permission: granted, declined or expired. Permissions never requested are absent. */
  permissions(token: string, about?: Fields): Promise<Map<string, string>>;
  inspect(token: string, about?: Fields): Promise<TokenInspection>;
}

export function createPlatformTokens(client: PlatformClient): PlatformTokens {
  const { id: client_id, secret: client_secret } = client.app;
  const requestToken = async (
    params: Record<string, string>,
    call: Pick<PlatformCall, "effect" | "secrets" | "about">,
  ) => {
    const query = { client_id, client_secret, ...params };
    return toIssuedToken(
      await client.callOrThrow({ ...call, method: "GET", path: "/oauth/access_token", query }),
    );
  };
  return {
    exchangeCode: (code, redirect_uri, about = {}) =>
      requestToken({ redirect_uri, code }, { effect: "change", secrets: [code], about }),
    prolong: (token, about = {}) =>
      requestToken(
        { grant_type: "fb_exchange_token", fb_exchange_token: token },
        { effect: "read", secrets: [token], about },
      ),
    async permissions(token, about = {}) {
      const body = await client.callOrThrow({
        effect: "read",
        method: "GET",
        path: "/me/permissions",
        token,
        about,
      });
      const { data } = asObject(body);
      if (!Array.isArray(data)) throw unusableAnswer("The platform's response has no list of permissions");
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
      const answer = await client.callOrThrow({ ...call, query: { input_token: token }, secrets: [token] });
      return toTokenInspection(answer, token);
    },
  };
}

function toIssuedToken(body: unknown): IssuedToken {
  const { access_token, expires_in } = asObject(body);
  const token = textOf(access_token);
  if (!token) throw unusableAnswer("The platform returned no token");
  const seconds = numberOf(expires_in);
  const expiresAt = seconds === undefined ? undefined : dateOf(Date.now() / SECOND + seconds);
  return { token, ...(expiresAt ? { expiresAt } : {}) };
}

function toTokenInspection(body: unknown, token: string): TokenInspection {
  const data = asObject(asObject(body).data);
  // A response without `is_valid` must not mark the token as dead.
  if (typeof data.is_valid !== "boolean")
    throw unusableAnswer("The platform's response does not show whether the token is valid");
  const userId = textOf(data.user_id);
  const reason = textOf(asObject(data.error).message);
  return {
    valid: data.is_valid,
    dead: !data.is_valid && isDeadTokenError(asObject(data.error)),
    ...expiryOf(data),
    ...(userId === undefined ? {} : { userId }),
    scopes: textsOf(data.scopes),
    granted: asList(data.granular_scopes).map(asObject).map(toGranted),
    ...(reason === undefined ? {} : { reason: redactSecrets(reason, [token]) }),
  };
}

/** `debug_token` names the field `subcode`, not `error_subcode`. */
function isDeadTokenError({ subcode, ...error }: Record<string, unknown>): boolean {
  const platformError = readPlatformError({ error: { ...error, error_subcode: subcode } });
  return platformError !== undefined && judge(platformError, "none").verdict === "token_dead";
}

function expiryOf({ expires_at }: Record<string, unknown>): Pick<TokenInspection, "expiresAt"> {
  if (numberOf(expires_at) === 0) return { expiresAt: null };
  const expiresAt = dateOf(expires_at);
  return expiresAt ? { expiresAt } : {};
}

const toGranted = ({ scope, target_ids }: Record<string, unknown>) => ({
  scope: textOf(scope) ?? "",
  ...(Array.isArray(target_ids) ? { targets: textsOf(target_ids) } : {}),
});
