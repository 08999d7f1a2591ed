import { toAdAccount } from "../../../domain/ads/ad-accounts.ts";
import { type Grant, storeGrant } from "../../../domain/ads/ad-grants.ts";
import { aboutRequester, type Requester, requestActor } from "../../../domain/tenants/audit-actors.ts";
import { ApiError, PLATFORM_REFUSALS, platformApiError } from "../../../http/api-error.ts";
import { type Route, route } from "../../../http/route.ts";
import { PlatformFailure, unusableAnswer } from "../../../platforms/errors/failure.ts";
import type { Platforms } from "../../../platforms/platforms.ts";
import type { Config } from "../../../runtime/config/config.ts";
import { OAUTH_STATE_TTL_MS } from "../../../runtime/deadlines.ts";
import { withQuery } from "../../../runtime/http/addresses.ts";
import { isPlatformId } from "../../../runtime/ids.ts";
import { adAccount } from "../../../schema/ads.ts";
import { object, Type, timestamp } from "../../../schema/types.ts";
import type { SecretBox } from "../../../security/secret-box.ts";
import type { SignedStates } from "../../../security/signatures-and-states.ts";
import { callbackRoute } from "./callback-route.ts";
import { checkRedirectUri, checkState, RETRY_ADVICE } from "./state-check.ts";

interface OauthParts {
  secretBox: SecretBox;
  states: SignedStates;
  settings: Pick<Config, "AD_DIALOG_URL" | "PLATFORM_APP_ID" | "OAUTH_REDIRECT_URI" | "PUBLIC_URL">;
  platforms: Pick<Platforms, "ads">;
}

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
        const { text: state, expiresAt } = states.issue([caller.clientId, redirect_uri], OAUTH_STATE_TTL_MS);
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

interface AuthorizationCode {
  code: string;
  redirectUri: string;
  requester: Requester;
}

/** Exchanges the code and reads everything that a grant needs; if any step fails, there is no grant. */
async function obtainGrant(
  { tokens, accounts }: Pick<Platforms["ads"], "tokens" | "accounts">,
  { code, redirectUri, requester }: AuthorizationCode,
): Promise<Grant> {
  const about = aboutRequester(requester);
  const shortLived = await tokens.exchangeCode(code, redirectUri, about);
  const { token, expiresAt } = await tokens.prolong(shortLived.token, about);
  const [permissions, inspection] = await Promise.all([
    tokens.permissions(token, about),
    tokens.inspect(token, about),
  ]);
  checkPermissions(permissions);
  const { userId = "" } = inspection;
  if (!inspection.valid || !isPlatformId(userId))
    throw unusableAnswer("The platform did not name the owner of the token");
  return {
    platformUserId: userId,
    token,
    expiresAt: inspection.expiresAt === undefined ? (expiresAt ?? null) : inspection.expiresAt,
    accounts: await accounts.listAll(token, about),
  };
}

/** The permissions that the dialog requests. */
const REQUESTED_PERMISSIONS = ["ads_management", "ads_read", "business_management"] as const;

/** Without this permission no ad account can be managed. */
const REQUIRED_PERMISSION = "ads_management";

/** Throws a 400 unless the required permission was granted; `missing` lists all that were not. */
function checkPermissions(permissions: ReadonlyMap<string, string>): void {
  if (permissions.get(REQUIRED_PERMISSION) === "granted") return;
  const missing = REQUESTED_PERMISSIONS.filter((name) => permissions.get(name) !== "granted");
  const message = `The permission ${REQUIRED_PERMISSION} was not granted: open the dialog again and grant it`;
  throw new ApiError("missing_permission", message, { extra: { missing } });
}

const MAX_URI_LENGTH = 2_048;

const EXAMPLE_REDIRECT_URI = "https://app.example.com/ads/back";
const EXAMPLE_STATE = "Vb3kqTz0wXn5rYc8mHd2LsPg.mhz3x9k2.pXo1uJ0Z3sN7cQm4tVd8yRb2wFh6gLk9aEi5xTnBvCs";

const urlQuery = object({
  redirect_uri: Type.Optional(
    Type.String({
      maxLength: MAX_URI_LENGTH,
      description:
        "Where the dialog redirects the person, with `code` and `state`: an https URL, or an http URL on localhost. Default: a page of Herald that shows the next step",
      examples: [EXAMPLE_REDIRECT_URI],
    }),
  ),
});

const oauthUrl = object(
  {
    url: Type.String({
      description: "The ad platform's login dialog: send the person there",
      examples: ["https://www.example.com/v26.0/dialog/oauth?client_id=1900000000000001&response_type=code"],
    }),
    state: Type.String({
      description: "Returned with the person; pass it to the exchange",
      examples: [EXAMPLE_STATE],
    }),
    redirect_uri: Type.String({
      description: "Pass exactly this value to the exchange",
      examples: [EXAMPLE_REDIRECT_URI],
    }),
    expires_at: timestamp({ description: "When the state expires" }),
  },
  { title: "OauthUrlResponseDto" },
);

const exchange = object({
  code: Type.String({
    minLength: 1,
    maxLength: 4_096,
    description: "The `code` parameter of the URL to which the person was redirected",
    examples: ["AQDx3kq"],
  }),
  redirect_uri: Type.String({
    minLength: 1,
    maxLength: MAX_URI_LENGTH,
    description: "Exactly the `redirect_uri` that was returned with the login URL",
    examples: [EXAMPLE_REDIRECT_URI],
  }),
  state: Type.String({ minLength: 1, maxLength: 1_024, examples: [EXAMPLE_STATE] }),
});
