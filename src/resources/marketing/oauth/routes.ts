import { toAdAccount } from "../../../domain/ads/ad-account-dto.ts";
import { storeGrant } from "../../../domain/ads/ad-grants.ts";
import { requestActor } from "../../../domain/tenants/request-actor.ts";
import { PLATFORM_REFUSALS, platformApiError } from "../../../http/platform-errors.ts";
import { type Route, route } from "../../../http/route.ts";
import { PlatformFailure } from "../../../platforms/errors/failure.ts";
import type { Platforms } from "../../../platforms/platforms.ts";
import type { Config } from "../../../runtime/config/config.ts";
import { MINUTE } from "../../../runtime/durations.ts";
import { withQuery } from "../../../runtime/with-query.ts";
import { adAccount } from "../../../schema/ad-accounts.ts";
import { Type } from "../../../schema/types.ts";
import type { SecretBox } from "../../../security/secret-box.ts";
import type { SignedStates } from "../../../security/signed-states.ts";
import { callbackRoute } from "./callback-route.ts";
import { checkState, RETRY_ADVICE } from "./check-state.ts";
import { obtainGrant } from "./obtain-grant.ts";
import { REQUESTED_PERMISSIONS } from "./permissions.ts";
import { checkRedirectUri } from "./redirect-uri.ts";
import { exchange, oauthUrl, urlQuery } from "./schema.ts";

export interface OauthParts {
  secretBox: SecretBox;
  states: SignedStates;
  settings: Pick<Config, "AD_DIALOG_URL" | "PLATFORM_APP_ID" | "OAUTH_REDIRECT_URI" | "PUBLIC_URL">;
  platforms: Pick<Platforms, "ads">;
}

const STATE_TTL_MS = 10 * MINUTE;

export function oauthRoutes({ secretBox, states, settings, platforms }: OauthParts): Route[] {
  return [
    route({
      method: "get",
      path: "/api/marketing/oauth/url",
      operationId: "getOAuthUrl",
      scope: "marketing:manage",
      summary: "Get the URL of the ad platform's login dialog",
      description:
        "Send the person who has access to the ad accounts to `url`. The dialog redirects them to `redirect_uri` with `code` and `state`. Pass both to the exchange, and only once: the code within half a minute, the state within ten minutes.",
      query: urlQuery,
      reply: oauthUrl,
      handle({ caller, query }) {
        const { redirect_uri = settings.OAUTH_REDIRECT_URI } = query;
        checkRedirectUri(redirect_uri);
        const { text: state, expiresAt } = states.issue([caller.clientId, redirect_uri], STATE_TTL_MS);
        const url = dialogUrl(settings, { redirect_uri, state });
        return { url, state, redirect_uri, expires_at: expiresAt.toISOString() };
      },
    }),
    route({
      method: "post",
      path: "/api/marketing/oauth/exchange",
      operationId: "exchangeOAuthCode",
      scope: "marketing:manage",
      gate: "terms",
      summary: "Connect the ad accounts that a person has granted",
      description:
        "Connects all granted accounts or none; the list is empty if no account was granted. New accounts and accounts that were revoked become `available`, and `ad_account.connected` is sent for each of them. Other accounts keep their status and use the new token. The state is single-use: it is consumed even when the exchange fails.",
      errors: ["missing_permission", ...PLATFORM_REFUSALS],
      body: exchange,
      reply: Type.Array(adAccount),
      async handle(context) {
        const { db, caller } = context;
        const { code, redirect_uri: redirectUri, state } = context.body;
        await checkState({ db, states }, { clientId: caller.clientId, redirectUri, state });
        const requester = requestActor(context);
        const grant = await obtainGrant(platforms.ads, { code, redirectUri, requester }).catch(throwAsFinal);
        const rows = await storeGrant({ db, secretBox }, requester, grant);
        return rows.map(toAdAccount);
      },
    }),
    callbackRoute({ publicUrl: settings.PUBLIC_URL, redirectUri: settings.OAUTH_REDIRECT_URI }),
  ];
}

/** The state is consumed, and most likely the code too, so that the request cannot be retried. */
function throwAsFinal(error: unknown): never {
  throw error instanceof PlatformFailure
    ? platformApiError(error, { hint: RETRY_ADVICE, retryable: false })
    : error;
}

/**
 * `rerequest` asks again for permissions that the person declined before; otherwise they could never grant
 * them.
 */
function dialogUrl(
  { AD_DIALOG_URL, PLATFORM_APP_ID }: OauthParts["settings"],
  { redirect_uri, state }: { redirect_uri: string; state: string },
): string {
  const scope = REQUESTED_PERMISSIONS.join(",");
  return withQuery(AD_DIALOG_URL, {
    client_id: PLATFORM_APP_ID,
    redirect_uri,
    state,
    response_type: "code",
    scope,
    auth_type: "rerequest",
  });
}
