import type { Edge } from "../node-kind.ts";
import type { Grant } from "../tokens.ts";
import { checkFields, project } from "../wire/fields.ts";
import { missingPermission } from "../wire/graph-error.ts";
import { pageOf } from "../wire/pages.ts";
import { AD_ACCOUNTS, type AdAccount } from "../world.ts";

const FIELDS = [
  "id",
  "account_id",
  "name",
  "account_status",
  "currency",
  "timezone_name",
  "business",
  "business_name",
];

/** Cut from all accounts there are, three at a time: a page without any that was granted is empty and has a next. */
export const myAdAccounts: Edge = {
  answer(call) {
    const { grant, params } = call;
    if (!["ads_management", "ads_read"].some((scope) => grant.scopes.includes(scope)))
      throw missingPermission(200, "ads_management or ads_read");
    const fields = params.words("fields");
    checkFields(fields, "AdAccount", FIELDS);
    return pageOf(call, AD_ACCOUNTS, (account) => project(shown(account, grant), fields, ["account_id"]), {
      visible: ({ id }) => grant.assets.includes(id),
      most: 3,
    });
  },
};

function shown({ id, business, ...rest }: AdAccount, { scopes }: Grant): Record<string, unknown> {
  const mayKnowBusiness = business && scopes.includes("business_management");
  return { ...rest, id: `act_${id}`, account_id: id, ...(mayKnowBusiness ? { business } : {}) };
}
