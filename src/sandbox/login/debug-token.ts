import { APP_NAME, PAGES, WABAS } from "../built-in-assets.ts";
import type { Ground } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { type GraphError, unknownToken } from "../wire/graph-error.ts";
import { DATA_ACCESS } from "./lifetimes.ts";
import { endOf } from "./token-end.ts";
import type { Grant } from "./tokens.ts";

/** What a token is and whether it is still good. One that is not is an answer, not an error. */
export const debugToken = (ground: Ground): Edge => ({
  token: "app",
  answer({ params }) {
    const token = params.requiredText("input_token");
    const grant = ground.tokens.read(token);
    if (!grant) return { data: { ...invalid(unknownToken()), scopes: [] } };
    const end = endOf(ground, token, grant);
    return { data: { ...described(ground, grant), ...(end ? invalid(end) : {}) } };
  },
});

const invalid = ({ code, message, options: { subcode } }: GraphError) => ({
  is_valid: false,
  error: { code, message, ...(subcode === undefined ? {} : { subcode }) },
});

const TYPES = { user: "USER", business: "SYSTEM_USER", page: "PAGE", app: "APP", nobody: "UNKNOWN" } as const;

function described({ settings }: Ground, grant: Grant) {
  const app = { app_id: settings.PLATFORM_APP_ID, type: TYPES[grant.kind], application: APP_NAME };
  if (grant.kind === "app") return { ...app, is_valid: true, scopes: [] };
  return {
    ...app,
    is_valid: true,
    issued_at: grant.issued,
    expires_at: grant.expires,
    data_access_expires_at: grant.issued + DATA_ACCESS,
    user_id: grant.user,
    ...(grant.kind === "page" ? { profile_id: grant.assets[0] } : {}),
    scopes: grant.scopes,
    granular_scopes: grant.scopes.map((scope) => ({ scope, ...targets(scope, grant) })),
  };
}

const PAGE_IDS = PAGES.map(({ id }) => id);

/** Which assets a permission is for, by how its name begins. */
const FAMILIES: Record<string, (assets: readonly string[]) => readonly string[]> = {
  whatsapp_: (assets) => WABAS.map(({ id }) => id).filter((id) => assets.includes(id)),
  pages_: (assets) => PAGE_IDS.filter((id) => assets.includes(id)),
  leads_: (assets) => PAGE_IDS.filter((id) => assets.includes(id)),
  instagram_: (assets) =>
    PAGES.flatMap(({ id, instagram }) => (instagram && assets.includes(id) ? [instagram.id] : [])),
};

/** No list means all assets: so the platform leaves it out for advertising, whatever was chosen. */
function targets(scope: string, { assets }: Grant): { target_ids?: readonly string[] } {
  const family = Object.keys(FAMILIES).find((start) => scope.startsWith(start));
  const chosen = family && FAMILIES[family];
  return chosen ? { target_ids: chosen(assets) } : {};
}
