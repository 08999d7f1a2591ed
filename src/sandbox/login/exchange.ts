import type { SandboxContext } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import type { Call } from "../wire/call.ts";
import { GraphError, invalidParameter, unknownToken } from "../wire/graph-error.ts";
import type { Params } from "../wire/params.ts";
import type { CodeResult } from "./codes.ts";
import { LONG_LIVED_SECONDS, SHORT_LIVED_SECONDS, toSeconds } from "./lifetimes.ts";
import { tokenErrorOf } from "./token-error.ts";
import { type Grant, safeEquals } from "./tokens.ts";

interface IssuedToken {
  access_token: string;
  token_type: "bearer";
  expires_in?: number;
}

/** Exchanges a dialog's code or a short-lived token for a token. */
export function exchangeEdge(context: SandboxContext): Edge {
  const grantTypes: Record<string, (context: SandboxContext, params: Params) => IssuedToken> = {
    authorization_code: exchangeCode,
    fb_exchange_token: extendToken,
  };
  const answer = ({ params }: Call): IssuedToken => {
    checkApp(context, params);
    const type = params.text("grant_type") ?? "authorization_code";
    const issueToken = Object.hasOwn(grantTypes, type) ? grantTypes[type] : undefined;
    if (!issueToken) throw invalidParameter(`Invalid grant_type: '${type}'`);
    return issueToken(context, params);
  };
  return { token: "none", answer };
}

function checkApp({ settings }: SandboxContext, params: Params): void {
  if (params.text("client_id") !== settings.PLATFORM_APP_ID)
    throw new GraphError(101, "Error validating application. Invalid application ID.");
  if (!safeEquals(params.text("client_secret") ?? "", settings.PLATFORM_APP_SECRET))
    throw new GraphError(1, "Error validating client secret.");
}

const CODE_ERRORS: Record<Exclude<CodeResult["outcome"], "taken">, [message: string, subcode?: number]> = {
  unknown: ["Invalid verification code format."],
  expired: ["This authorization code has expired.", 36007],
  mismatch: [
    "Error validating verification code. Please make sure your redirect_uri is identical to the one you used in the OAuth dialog request",
    36008,
  ],
  used: ["This authorization code has been used.", 36009],
};

/**
 * A user token lives for 90 minutes. A business token is long-lived and comes without `expires_in`: its
 * expiry is only visible in debug_token.
 */
function exchangeCode({ codes, tokens, now }: SandboxContext, params: Params): IssuedToken {
  const result = codes.take(params.requiredText("code"), params.text("redirect_uri") ?? "");
  if (result.outcome !== "taken") {
    const [message, subcode] = CODE_ERRORS[result.outcome];
    throw new GraphError(100, message, subcode === undefined ? {} : { subcode });
  }
  const isBusiness = result.agreement.kind === "business";
  const lifetimeSeconds = isBusiness ? LONG_LIVED_SECONDS : SHORT_LIVED_SECONDS;
  const issued = toSeconds(now());
  const token = tokens.issue({ ...result.agreement, issued, expires: issued + lifetimeSeconds });
  return {
    access_token: token,
    token_type: "bearer",
    ...(isBusiness ? {} : { expires_in: lifetimeSeconds }),
  };
}

/** A token that never expires stays permanent and has no `expires_in`. */
function extendToken(context: SandboxContext, params: Params): IssuedToken {
  const grant = readLiveGrant(context, params.requiredText("fb_exchange_token"));
  const issued = toSeconds(context.now());
  if (grant.expires === 0)
    return { access_token: context.tokens.issue({ ...grant, issued }), token_type: "bearer" };
  const token = context.tokens.issue({ ...grant, issued, expires: issued + LONG_LIVED_SECONDS });
  return { access_token: token, token_type: "bearer", expires_in: LONG_LIVED_SECONDS };
}

function readLiveGrant(context: SandboxContext, token: string): Grant {
  const grant = context.tokens.read(token);
  if (!grant || grant.kind === "app") throw unknownToken();
  const tokenError = tokenErrorOf(context, token, grant);
  if (tokenError) throw tokenError;
  return grant;
}
