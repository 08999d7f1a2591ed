import { toAdAccount } from "../../../domain/ads/ad-account-dto.ts";
import { changeAdAccountStatus, type StatusChangeOutcome } from "../../../domain/ads/ad-accounts.ts";
import { requestActor, toRequester } from "../../../domain/tenants/request-actor.ts";
import { ApiError } from "../../../http/api-error.ts";
import { listById, listOf, listQuery, pageRequest } from "../../../http/lists.ts";
import { PLATFORM_REFUSALS } from "../../../http/platform-errors.ts";
import { type Route, route } from "../../../http/route.ts";
import { adAccount } from "../../../schema/ad-accounts.ts";
import { findAdAccount, listAdAccounts } from "../../../store/ads/ad-accounts.ts";
import { accountNotFound, accountRevoked } from "../require-ad-account.ts";
import { type AdAccountParts, refreshAdAccount, subscribeActiveAccount } from "./platform-calls.ts";
import { adAccountFilters, adAccountParams, chosenStatus } from "./schema.ts";

export function adAccountRoutes(parts: Omit<AdAccountParts, "db">): Route[] {
  return [
    route({
      method: "get",
      path: "/api/marketing/ad-accounts",
      operationId: "listAdAccounts",
      scope: "marketing:read",
      summary: "List ad accounts, newest first",
      query: listQuery(adAccountFilters),
      reply: listOf(adAccount),
      async handle({ db, caller, query, cursors }) {
        const page = pageRequest(query, cursors);
        const rows = await listAdAccounts(db, caller.clientId, { page, ...query });
        return listById(rows, toAdAccount, { page, cursors });
      },
    }),
    route({
      method: "get",
      path: "/api/marketing/ad-accounts/{id}",
      operationId: "getAdAccount",
      scope: "marketing:read",
      summary: "Read an ad account",
      params: adAccountParams,
      reply: adAccount,
      async handle({ db, caller, params }) {
        const row = await findAdAccount(db, caller.clientId, params.id);
        if (!row) throw accountNotFound();
        return toAdAccount(row);
      },
    }),
    route({
      method: "patch",
      path: "/api/marketing/ad-accounts/{id}",
      operationId: "updateAdAccount",
      scope: "marketing:manage",
      gate: "terms",
      summary: "Activate or disable an ad account",
      description:
        "Herald works only with active accounts. Activating an account also subscribes to its changes at the ad platform; if that fails, it is retried later. If the platform rejects the token on this occasion, the account in the response is `revoked`. A revoked account must be connected again.",
      errors: ["invalid_state_transition", "ad_account_revoked"],
      params: adAccountParams,
      body: chosenStatus,
      reply: adAccount,
      async handle(context) {
        const input = { ...context.params, ...context.body };
        const actor = requestActor(context);
        const chosen = await changeAdAccountStatus(context.db, actor, input);
        if (chosen.outcome !== "set") throw statusRefusal(chosen);
        const { row, changed } = chosen;
        return toAdAccount(
          changed && row.status === "active"
            ? await subscribeActiveAccount({ ...parts, db: context.db }, actor, row)
            : row,
        );
      },
    }),
    route({
      method: "post",
      path: "/api/marketing/ad-accounts/{id}/refresh",
      operationId: "refreshAdAccount",
      scope: "marketing:manage",
      gate: "terms",
      summary: "Refresh an ad account from the ad platform",
      description:
        "Reads the account from the ad platform now. Changes are also sent as `ad_account.updated`. Herald's own `status` does not change, unless the platform rejects the token: then every account with this token becomes `revoked`.",
      errors: ["ad_account_revoked", ...PLATFORM_REFUSALS],
      params: adAccountParams,
      reply: adAccount,
      handle: async (context) =>
        toAdAccount(
          await refreshAdAccount({ ...parts, db: context.db }, toRequester(context), context.params.id),
        ),
    }),
  ];
}

function statusRefusal({ outcome }: Exclude<StatusChangeOutcome, { outcome: "set" }>): ApiError {
  switch (outcome) {
    case "not_found":
      return accountNotFound();
    case "revoked":
      return accountRevoked();
    case "never_active":
      return new ApiError(
        "invalid_state_transition",
        "An ad account that was never active cannot be disabled",
      );
  }
}
