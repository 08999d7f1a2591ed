import { accountView } from "./ads/nodes.ts";
import { AD_ACCOUNTS, APP_NAME, PAGES, PERSON, type SocialPage, WABAS } from "./built-in-assets.ts";
import type { SandboxContext } from "./context.ts";
import { checkFields, project, toListPage } from "./graph/fields-and-lists.ts";
import { GraphError, invalidParameter, unknownToken } from "./graph/graph-error.ts";
import type { Call, Edge, NodeKind } from "./graph/node.ts";
import { ownProperty, type Params } from "./graph/params.ts";
import {
  type CodeResult,
  DATA_ACCESS_SECONDS,
  type Grant,
  LONG_LIVED_SECONDS,
  pageTokenExpiry,
  SHORT_LIVED_SECONDS,
  safeEquals,
  tokenErrorOf,
  toSeconds,
} from "./graph/tokens.ts";
import { pageIdOf } from "./pages/accounts-and-subscriptions.ts";
import { meMessages } from "./pages/messages.ts";
import { showPage } from "./pages/nodes.ts";

/** Nodes of the login: code exchange, token inspection and the token's person. */
export const loginKinds = (context: SandboxContext): NodeKind[] => [
  {
    name: "oauth",
    owns: (node) => node === "oauth",
    edges: { "GET access_token": exchangeEdge(context), "POST access_token": exchangeEdge(context) },
  },
  { name: "debug_token", owns: (node) => node === "debug_token", edges: { GET: debugToken(context) } },
  { name: "me", owns: (node) => node === "me", edges: meEdges(context) },
];

interface IssuedToken {
  access_token: string;
  token_type: "bearer";
  expires_in?: number;
}

/** Exchanges a dialog's code or a short-lived token for a token. */
function exchangeEdge(context: SandboxContext): Edge {
  const grantTypes: Record<string, (context: SandboxContext, params: Params) => IssuedToken> = {
    authorization_code: exchangeCode,
    fb_exchange_token: extendToken,
  };
  const answer = ({ params }: Call): IssuedToken => {
    checkApp(context, params);
    const type = params.text("grant_type") ?? "authorization_code";
    const issueToken = ownProperty(grantTypes, type);
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

/** Describes a token. An invalid token is described too and is not an error. */
const debugToken = (context: SandboxContext): Edge => ({
  token: "app",
  answer({ params }) {
    const token = params.requiredText("input_token");
    const grant = context.tokens.read(token);
    if (!grant) return { data: { ...toInvalidToken(unknownToken()), scopes: [] } };
    const tokenError = tokenErrorOf(context, token, grant);
    return { data: { ...describeGrant(context, grant), ...(tokenError ? toInvalidToken(tokenError) : {}) } };
  },
});

const toInvalidToken = ({ code, message, options: { subcode } }: GraphError) => ({
  is_valid: false,
  error: { code, message, ...(subcode === undefined ? {} : { subcode }) },
});

const TOKEN_TYPES = {
  user: "USER",
  business: "SYSTEM_USER",
  page: "PAGE",
  app: "APP",
  anonymous: "UNKNOWN",
} as const;

function describeGrant({ settings }: SandboxContext, grant: Grant) {
  const app = { app_id: settings.PLATFORM_APP_ID, type: TOKEN_TYPES[grant.kind], application: APP_NAME };
  if (grant.kind === "app") return { ...app, is_valid: true, scopes: [] };
  return {
    ...app,
    is_valid: true,
    issued_at: grant.issued,
    expires_at: grant.expires,
    data_access_expires_at: grant.issued + DATA_ACCESS_SECONDS,
    user_id: grant.user,
    ...(grant.kind === "page" ? { profile_id: grant.assets[0] } : {}),
    scopes: grant.scopes,
    granular_scopes: grant.scopes.map((scope) => ({ scope, ...toTargets(scope, grant) })),
  };
}

const PAGE_IDS = PAGES.map(({ id }) => id);

/** The assets that a permission applies to, by the beginning of its name. */
const SCOPE_TARGETS: Record<string, (assets: readonly string[]) => readonly string[]> = {
  whatsapp_: (assets) => WABAS.map(({ id }) => id).filter((id) => assets.includes(id)),
  pages_: (assets) => PAGE_IDS.filter((id) => assets.includes(id)),
  leads_: (assets) => PAGE_IDS.filter((id) => assets.includes(id)),
  instagram_: (assets) =>
    PAGES.flatMap(({ id, instagram }) => (instagram && assets.includes(id) ? [instagram.id] : [])),
};

/** Omits the list for ads permissions, like the platform: no list means all assets. */
function toTargets(scope: string, { assets }: Grant): { target_ids?: readonly string[] } {
  const prefix = Object.keys(SCOPE_TARGETS).find((start) => scope.startsWith(start));
  const targetsOf = prefix && SCOPE_TARGETS[prefix];
  return targetsOf ? { target_ids: targetsOf(assets) } : {};
}

const PERSON_FIELDS = ["id", "name"];

/** The person or page of the token, its permissions, and the assets it covers. */
const meEdges = (context: SandboxContext): Record<string, Edge> => ({
  GET: {
    answer: (call) => (call.grant.kind === "page" ? showPage(pageIdOf(call.grant), call) : showPerson(call)),
  },
  "GET permissions": {
    answer: ({ grant: { scopes, declined, expired = [] } }) => ({
      data: [
        ...toPermissionItems(scopes, "granted"),
        ...toPermissionItems(declined, "declined"),
        ...toPermissionItems(expired, "expired"),
      ],
    }),
  },
  "DELETE permissions": {
    answer({ token }) {
      context.tokens.revoke(token, 458);
      return { success: true };
    },
  },
  "GET adaccounts": myAdAccounts(context),
  "GET accounts": myPages(context),
  "POST messages": meMessages(context),
});

function showPerson({ params }: Call): unknown {
  const fields = params.words("fields");
  checkFields(fields, "User", PERSON_FIELDS);
  return project(PERSON, fields, PERSON_FIELDS);
}

const toPermissionItems = (permissions: readonly string[], status: "granted" | "declined" | "expired") =>
  permissions.map((permission) => ({ permission, status }));

/**
 * Pages of three are cut from all accounts before filtering, so a page without granted accounts is empty and
 * has a next page.
 */
const myAdAccounts = (context: SandboxContext): Edge => ({
  anyScope: ["ads_management", "ads_read"],
  answer: (call) =>
    toListPage(call, AD_ACCOUNTS, accountView(context, call), {
      isVisible: ({ id }) => call.grant.assets.includes(id),
      maxLimit: 3,
    }),
});

const MY_PAGE_FIELDS = ["id", "name", "access_token", "tasks", "instagram_business_account"];
const TASKS = ["ADVERTISE", "ANALYZE", "CREATE_CONTENT", "MESSAGING", "MODERATE", "MANAGE"];

/** Lists the granted pages, two per list page, each with a page token. */
const myPages = (context: SandboxContext): Edge => ({
  scopes: ["pages_show_list"],
  answer(call) {
    const { grant, params } = call;
    const fields = params.words("fields");
    checkFields(fields, "Page", MY_PAGE_FIELDS);
    const show = (page: SocialPage) =>
      project(toPageNode(context, page, grant), fields, MY_PAGE_FIELDS.slice(0, 4));
    return toListPage(call, PAGES, show, { isVisible: ({ id }) => grant.assets.includes(id), maxLimit: 2 });
  },
});

function toPageNode(context: SandboxContext, page: SocialPage, grant: Grant): Record<string, unknown> {
  const { id, name, instagram } = page;
  const canSeePhotoAccount = instagram && grant.scopes.includes("instagram_basic");
  return {
    id,
    name,
    tasks: TASKS,
    access_token: issuePageToken(context, page, grant),
    ...(canSeePhotoAccount ? { instagram_business_account: instagram } : {}),
  };
}

const issuePageToken = (
  { tokens, now }: SandboxContext,
  { id, instagram }: SocialPage,
  grant: Grant,
): string =>
  tokens.issue({
    ...grant,
    kind: "page",
    assets: instagram ? [id, instagram.id] : [id],
    issued: toSeconds(now()),
    expires: pageTokenExpiry(grant),
  });
