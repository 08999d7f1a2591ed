import { AD_ACCOUNTS, BUILT_IN_TOKENS, LEADS, PAGES, WABAS } from "../built-in-assets.ts";
import { DIALOG_PATHS } from "../dialogs/dialog-routes.ts";
import { FAULT_EFFECTS } from "../faults/fault.ts";
import type { SandboxSettings } from "../settings.ts";
import { VERSION } from "../settings.ts";
import { Reply } from "../wire/call.ts";
import type { ControlRoute } from "./control-route.ts";
import { MAGIC_VALUES } from "./magic-values.ts";

/** Describes the sandbox to developers: endpoints, faults, magic values, assets and tokens. */
export function indexRoutes(routes: readonly ControlRoute[], settings: SandboxSettings): ControlRoute[] {
  const answer = ({ url }: { url: URL }) =>
    new Reply({
      sandbox: "Simulated platforms for development. Nothing here costs money or reaches real people.",
      platforms: `${url.origin}/${VERSION}`,
      app_id: settings.PLATFORM_APP_ID,
      config_id: settings.SIGNUP_CONFIG_ID,
      dialogs: DIALOG_PATHS.map((path) => `${url.origin}${path}`),
      endpoints: routes.map(({ method, path, summary }) => ({ endpoint: `${method} ${path}`, summary })),
      faults: Object.entries(FAULT_EFFECTS).map(([kind, effect]) => ({ kind, effect })),
      magic_values: MAGIC_VALUES,
      ad_accounts: AD_ACCOUNTS.map(({ id, name, imageHash }) => ({
        id: `act_${id}`,
        name,
        image_hash: imageHash,
      })),
      chat_businesses: WABAS.map(({ id, name, numbers }) => ({
        id,
        name,
        numbers: numbers.map((number) => number.id),
      })),
      pages: PAGES,
      leads: LEADS.map(({ id, page_id }) => ({ id, page_id })),
      tokens: Object.entries(BUILT_IN_TOKENS).map(([token, { kind, assets }]) => ({ token, kind, assets })),
    });
  return ["/", "/_sandbox"].map((path) => ({ method: "GET", path, summary: "shows this overview", answer }));
}
