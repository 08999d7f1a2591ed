import { ACCOUNT_FIELDS, toAccountNode } from "../ads/account.ts";
import { AD_ACCOUNTS, type AdAccount } from "../built-in-assets.ts";
import type { Edge } from "../node-kind.ts";
import { checkFields, project } from "../wire/fields.ts";
import { toListPage } from "../wire/list-page.ts";

/**
 * Pages of three are cut from all accounts before filtering, so a page without granted accounts is empty and
 * has a next page.
 */
export const myAdAccounts: Edge = {
  anyScope: ["ads_management", "ads_read"],
  answer(call) {
    const { grant, params } = call;
    const fields = params.words("fields");
    checkFields(fields, "AdAccount", ACCOUNT_FIELDS);
    const show = (account: AdAccount) => project(toAccountNode(account, grant), fields, ["account_id"]);
    return toListPage(call, AD_ACCOUNTS, show, {
      isVisible: ({ id }) => grant.assets.includes(id),
      maxLimit: 3,
    });
  },
};
