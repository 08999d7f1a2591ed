import { callForAccount, subscribe } from "../../../domain/ads/ad-account-access.ts";
import {
  changeAdAccountStatus,
  recordSync,
  SETTABLE_STATUSES,
  type StatusChangeOutcome,
  toAdAccount,
  toFacts,
} from "../../../domain/ads/ad-accounts.ts";
import {
  aboutRequester,
  type Requester,
  requestActor,
  toRequester,
} from "../../../domain/tenants/audit-actors.ts";
import { ApiError, PLATFORM_REFUSALS } from "../../../http/api-error.ts";
import { listById, listOf, listQuery, pageRequest } from "../../../http/lists.ts";
import { type Route, route } from "../../../http/route.ts";
import { isTokenDead } from "../../../platforms/errors/failure.ts";
import type { Platforms } from "../../../platforms/platforms.ts";
import type { Log } from "../../../runtime/log.ts";
import { adAccount } from "../../../schema/ads.ts";
import { AD_ACCOUNT_STATUSES } from "../../../schema/enumerations.ts";
import { object, oneOf, Type } from "../../../schema/types.ts";
import type { SecretBox } from "../../../security/secret-box.ts";
import { type AdAccountRow, findAdAccount, listAdAccounts } from "../../../store/ads/ad-accounts.ts";
import type { Database } from "../../../store/database/database.ts";
import { accountNotFound, accountRevoked, requireAdAccount } from "../require-ad-account.ts";

interface AdAccountParts {
  db: Database;
  secretBox: SecretBox;
  log: Log;
  platforms: Pick<Platforms, "ads">;
}

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

/**
 * Subscribes to the changes of an account that has become active. On failure the account stays active, and
 * the token check job retries.
 */
async function subscribeActiveAccount(
  parts: AdAccountParts,
  requester: Requester,
  row: AdAccountRow,
): Promise<AdAccountRow> {
  const { db, log, platforms } = parts;
  const { client_id: client, id, ad_account_id: ad_account } = row;
  try {
    const account = await requireAdAccount(parts, requester, id);
    const subscriptionParts = { db, log, accounts: platforms.ads.accounts };
    await callForAccount(parts, account, () => subscribe(subscriptionParts, account));
  } catch (error) {
    if (!isTokenDead(error))
      log.error("ad_account.subscribe_failed", { ...aboutRequester(requester), ad_account, err: error });
  }
  // A dead token, detected above, revokes the account.
  const current = await findAdAccount(db, client, id).catch(() => undefined);
  return current ?? row;
}

async function refreshAdAccount(
  parts: AdAccountParts,
  requester: Requester,
  id: string,
): Promise<AdAccountRow> {
  const { db, platforms } = parts;
  const account = await requireAdAccount(parts, requester, id);
  const read = await callForAccount(parts, account, () => platforms.ads.accounts.read(account.access));
  const fetched = [{ id: account.row.id, ...toFacts(read) }];
  const { rows } = await recordSync(db, account.row.connection_id, { fetched, unreachableIds: [] });
  const row = rows[0] ?? (await findAdAccount(db, requester.clientId, id));
  if (!row) throw accountNotFound();
  return row;
}

const adAccountFilters = {
  status: Type.Optional(
    oneOf(AD_ACCOUNT_STATUSES, { description: "Default: all, including revoked accounts" }),
  ),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: "Part of the name or of the ad platform's id, case-insensitive",
      examples: ["coffee"],
    }),
  ),
};

const adAccountParams = object({
  id: Type.String({
    pattern: "^(act_\\d{1,32}|[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})$",
    "x-message": "id must be the UUID of an ad account or the ad platform's id, such as act_1600000000000101",
    description: "The ad account: Herald's id (a UUID) or the ad platform's id with its `act_` prefix",
    examples: ["0192f3a8-5c1d-7e6b-9a40-3f2b7e6a1d90"],
  }),
});

const chosenStatus = object({
  status: oneOf(SETTABLE_STATUSES, {
    description: "`active`: Herald works with the account. `disabled`: paused, but still connected",
  }),
});
