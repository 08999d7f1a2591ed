import { APP_NAME, PAGES, WABAS } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { type GraphError, unknownToken } from "../wire/graph-error.ts";
import { DATA_ACCESS_SECONDS } from "./lifetimes.ts";
import { tokenErrorOf } from "./token-error.ts";
import type { Grant } from "./tokens.ts";

/** Describes a token. An invalid token is described too and is not an error. */
export const debugToken = (context: SandboxContext): Edge => ({
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
