import { AD_ACCOUNTS, BUILT_IN_TOKENS, LEADS, PAGES, WABAS } from "../built-in-assets.ts";
import { DIALOG_PATHS } from "../dialogs/dialog-routes.ts";
import { CALL_FAULTS, WEBHOOK_FAULTS } from "../faults/fault.ts";
import type { SandboxSettings } from "../settings.ts";
import { VERSION } from "../settings.ts";
import { Reply } from "../wire/call.ts";
import type { ControlRoute } from "./control-route.ts";
import { MAGIC_VALUES } from "./magic-values.ts";

/** What there is to try, for whoever looks in. */
export function indexRoutes(routes: readonly ControlRoute[], settings: SandboxSettings): ControlRoute[] {
  const answer = ({ url }: { url: URL }) =>
    new Reply({
      sandbox: "Stand-in platforms for development. Nothing here costs money or reaches anybody.",
      platforms: `${url.origin}/${VERSION}`,
      app_id: settings.PLATFORM_APP_ID,
      config_id: settings.SIGNUP_CONFIG_ID,
      dialogs: DIALOG_PATHS.map((path) => `${url.origin}${path}`),
      doors: routes.map(({ method, path, summary }) => ({ door: `${method} ${path}`, summary })),
      faults: [...CALL_FAULTS, ...WEBHOOK_FAULTS],
      magic_values: MAGIC_VALUES,
      ad_accounts: AD_ACCOUNTS.map(({ id, name }) => ({ id: `act_${id}`, name })),
      chat_businesses: WABAS.map(({ id, name, numbers }) => ({
        id,
        name,
        numbers: numbers.map((number) => number.id),
      })),
      pages: PAGES,
      leads: LEADS.map(({ id, page_id }) => ({ id, page_id })),
      tokens: Object.entries(BUILT_IN_TOKENS).map(([token, { kind, assets }]) => ({ token, kind, assets })),
    });
  return ["/", "/_sandbox"].map((path) => ({ method: "GET", path, summary: "this page", answer }));
}
