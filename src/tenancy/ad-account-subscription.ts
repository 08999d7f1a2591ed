import type { AdAccounts } from "../platforms/ads/accounts.ts";
import { isTokenDead, PlatformFailure } from "../platforms/errors/failure.ts";
import type { Log } from "../runtime/log.ts";
import { markSubscribed } from "../store/ad-account-changes.ts";
import type { Database } from "../store/database.ts";
import { type AdAccountAccess, speakingBy } from "./ad-account-access.ts";

interface Parts {
  db: Database;
  accounts: AdAccounts;
  log: Log;
}

export type Subscription = "subscribed" | "refused" | "token_dead";

/** Asks the platform to tell us of the account's changes. Where it refuses, the token check asks again. */
export async function subscribe(
  { db, accounts, log }: Parts,
  { row, access }: AdAccountAccess,
): Promise<Subscription> {
  try {
    await speakingBy({ db, log }, row.connection_id, () => accounts.subscribe(access));
    await markSubscribed(db, row.client_id, row.id);
    return "subscribed";
  } catch (error) {
    if (!(error instanceof PlatformFailure)) throw error;
    const { client_id: client, ad_account_id: ad_account } = row;
    log.warn("ad_account.not_subscribed", { client, ad_account, error: error.code });
    return isTokenDead(error) ? "token_dead" : "refused";
  }
}
