import { accountView } from "../ads/account.ts";
import { AD_ACCOUNTS } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { toListPage } from "../wire/list-page.ts";

/**
 * Pages of three are cut from all accounts before filtering, so a page without granted accounts is empty and
 * has a next page.
 */
export const myAdAccounts = (context: SandboxContext): Edge => ({
  anyScope: ["ads_management", "ads_read"],
  answer: (call) =>
    toListPage(call, AD_ACCOUNTS, accountView(context, call), {
      isVisible: ({ id }) => call.grant.assets.includes(id),
      maxLimit: 3,
    }),
});
