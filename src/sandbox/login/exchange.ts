import type { Ground } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import type { Call } from "../wire/call.ts";
import { GraphError, invalidParameter, unknownToken } from "../wire/graph-error.ts";
import type { Params } from "../wire/params.ts";
import type { Taken } from "./codes.ts";
import { LONG_LIVED, SHORT_LIVED, toSeconds } from "./lifetimes.ts";
import { endOf } from "./token-end.ts";
import { equal, type Grant } from "./tokens.ts";

interface Issued {
  access_token: string;
  token_type: "bearer";
  expires_in?: number;
}

/** A dialog's code, or a short-lived token, for a token. */
export function exchange(ground: Ground): Edge {
  const ways: Record<string, (ground: Ground, params: Params) => Issued> = {
    authorization_code: fromCode,
    fb_exchange_token: prolong,
  };
  const answer = ({ params }: Call): Issued => {
    checkApp(ground, params);
    const type = params.text("grant_type") ?? "authorization_code";
    const way = Object.hasOwn(ways, type) ? ways[type] : undefined;
    if (!way) throw invalidParameter(`Invalid grant_type: '${type}'`);
    return way(ground, params);
  };
  return { token: "none", answer };
}

function checkApp({ settings }: Ground, params: Params): void {
  if (params.text("client_id") !== settings.PLATFORM_APP_ID)
    throw new GraphError(101, "Error validating application. Invalid application ID.");
  if (!equal(params.text("client_secret") ?? "", settings.PLATFORM_APP_SECRET))
    throw new GraphError(1, "Error validating client secret.");
}

const REFUSED: Record<Exclude<Taken["outcome"], "taken">, [message: string, subcode?: number]> = {
  unknown: ["Invalid verification code format."],
  expired: ["This authorization code has expired.", 36007],
  mismatch: [
    "Error validating verification code. Please make sure your redirect_uri is identical to the one you used in the OAuth dialog request",
    36008,
  ],
  used: ["This authorization code has been used.", 36009],
};

/**
 * A person's token lives for an hour and a half. A business's lives as long as a prolonged one and comes without
 * `expires_in`: whoever wants to know its end has to read debug_token.
 */
function fromCode({ codes, tokens, now }: Ground, params: Params): Issued {
  const taken = codes.take(params.requiredText("code"), params.text("redirect_uri") ?? "");
  if (taken.outcome !== "taken") {
    const [message, subcode] = REFUSED[taken.outcome];
    throw new GraphError(100, message, subcode === undefined ? {} : { subcode });
  }
  const isBusiness = taken.agreement.kind === "business";
  const life = isBusiness ? LONG_LIVED : SHORT_LIVED;
  const issued = toSeconds(now());
  const token = tokens.issue({ ...taken.agreement, issued, expires: issued + life });
  return { access_token: token, token_type: "bearer", ...(isBusiness ? {} : { expires_in: life }) };
}

/** A token that never ends stays so, and has no `expires_in`. */
function prolong(ground: Ground, params: Params): Issued {
  const grant = alive(ground, params.requiredText("fb_exchange_token"));
  const issued = toSeconds(ground.now());
  if (grant.expires === 0)
    return { access_token: ground.tokens.issue({ ...grant, issued }), token_type: "bearer" };
  const token = ground.tokens.issue({ ...grant, issued, expires: issued + LONG_LIVED });
  return { access_token: token, token_type: "bearer", expires_in: LONG_LIVED };
}

function alive(ground: Ground, token: string): Grant {
  const grant = ground.tokens.read(token);
  if (!grant || grant.kind === "app") throw unknownToken();
  const end = endOf(ground, token, grant);
  if (end) throw end;
  return grant;
}
